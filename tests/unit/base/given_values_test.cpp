// What a command line says and cannot mean: empty values, and words that no command knows.
#include <algorithm>
#include <string>
#include <vector>

#include "base/input_error.h"
#include "launch/launch_line.h"
#include "unit/cli.h"

namespace kvcap::given_values_test {
namespace {

using Words = std::vector<std::string>;

class GivenValues : public Cli {
 protected:
  // Refused in one line, and nothing is printed or written.
  std::string refused(const Words& arguments) const {
    const auto entries = [&] {
      return std::distance(std::filesystem::directory_iterator(folder_),
                           std::filesystem::directory_iterator());
    };
    kvcap({"show", "models"});  // makes the files of its output
    const auto before = entries();
    const Outcome outcome = kvcap(arguments);
    EXPECT_EQ(outcome.exit_code, 2) << arguments.back();
    EXPECT_EQ(outcome.out, "");
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
    EXPECT_LT(outcome.err.size(), 4100U);
    EXPECT_EQ(entries(), before) << arguments.back();
    return outcome.err;
  }
};

TEST_F(GivenValues, ThatAreEmptyAreErrors) {
  const std::string chat = path("chat.json");
  const Words run = {"run", chat}, compare = {"compare", chat, "--policies", "hcache,ideal"};
  const std::vector<std::pair<Words, std::string>> cases = {
      {run, "--out"},
      {run, "--perfetto"},
      {run, "--prices"},
      {run, "--set"},
      {run, "--require"},
      {compare, "--out"},
      {compare, "--prices"},
      {{"compare", chat}, "--policies"},
      {{"compare", chat}, "--over"},
      {{"sweep", chat}, "--out"},
      {{"sweep", chat, "--out", path("made")}, "--cache"},
      {{"plan", chat}, "--out"},
      {{"capacity", chat}, "--prices"},
      {{"validate"}, "--run"},
      {{"validate"}, "--twin"},
      {{"validate"}, "--suite"},
      {{"report", path("none")}, "--before"},
      {{"observe", path("none")}, "--out"},
      {{"restore", "--tokens", "9"}, "--model"}};
  for (const auto& [command, option] : cases) {
    Words spaced = command, joined = command;
    spaced.insert(spaced.end(), {option, ""});
    joined.push_back(option + "=");
    for (const Words& arguments : {spaced, joined}) {
      const std::string error = refused(arguments);
      EXPECT_TRUE(error.starts_with("kvcap: " + option + ": found an empty text, allowed: a value")) << error;
    }
  }
  EXPECT_NE(refused({"run", ""}).find("found an empty text"), std::string::npos);
  EXPECT_NE(refused({"report", path("none"), "-o", ""}).find("found an empty text"), std::string::npos);
  EXPECT_NE(refused({"report", path("none"), "-o="}).find("found an empty text"), std::string::npos);
}

TEST_F(GivenValues, OfSettingsAreErrorsUnlessAnEmptyTextIsMeant) {
  const std::string chat = path("chat.json");
  for (const char* setting : {"name=", "policy.name=", "seed=", "workload.source.path="}) {
    EXPECT_EQ(refused({"run", chat, "--set", setting}),
              "kvcap: --set " + std::string(setting) +
                  ": found no value (a shell variable that is not set is empty), allowed: path=value, for "
                  "example --set serving.max_num_seqs=64\n");
    EXPECT_NE(refused({"run", chat, "--set=" + std::string(setting)}).find("found no value"),
              std::string::npos);
  }
  EXPECT_EQ(kvcap({"run", chat, "--set", "notes=[\"\"]"}).exit_code, 0);
}

TEST_F(GivenValues, OfAFlagAreNone) {
  EXPECT_EQ(kvcap({"run", path("chat.json"), "--json", "--check"}).exit_code, 0);
}

TEST_F(GivenValues, NineThousandUnknownFlagsAreOneLine) {
  Words arguments = {"run", path("chat.json")};
  for (int i = 0; i < 9000; ++i) arguments.push_back("--unknown" + std::to_string(i));
  EXPECT_EQ(
      refused(arguments),
      "kvcap: found \"--unknown0\", \"--unknown1\", \"--unknown2\" and 8,997 more, which are not known to "
      "this command; kvcap run --help has an example\n");
  EXPECT_EQ(
      refused({"run", path("chat.json"), "--perfeto=x"}),
      "kvcap: found \"--perfeto=x\", which is not known to this command; did you mean \"--perfetto\"?; kvcap "
      "run --help has an example\n");
  EXPECT_EQ(
      refused({"run", path("chat.json"), "--set", "seed=1", "replications=2"}),
      "kvcap: found \"replications=2\", which is not known to this command; several values of one option "
      "are separated by commas, and --set, --assume and --require are given once per value; kvcap run "
      "--help has an example\n");
  const Outcome help = kvcap({"run", "--help"});
  EXPECT_NE(help.out.find("--set TEXT (once per value) "), std::string::npos) << help.out;
  EXPECT_EQ(help.out.find("TEXT ..."), std::string::npos) << help.out;
}

TEST_F(GivenValues, LongAndStrangeOnesAreCutInMessages) {
  const std::string chat = path("chat.json"), longest(100'000, 'n');
  const std::string strange = "a\x1b[31mb\nc\rd\x7f\u202e";
  for (const Words& arguments : std::vector<Words>{{"run", longest},
                                                   {"run", chat, "--set", "policy.name=" + longest},
                                                   {"run", chat, "--set", longest + "=1"},
                                                   {"run", chat, "--require", longest},
                                                   {"run", chat, "--out", longest},
                                                   {"run", chat, "--" + longest},
                                                   {longest},
                                                   {"show", longest},
                                                   {"compare", chat, "--policies", longest},
                                                   {"validate", "--suite", longest}}) {
    const std::string error = refused(arguments);
    EXPECT_LT(error.size(), 3'500U) << arguments[0];
    EXPECT_NE(error.find("..."), std::string::npos) << error;
  }
  for (const Words& arguments : std::vector<Words>{{"run", strange},
                                                   {"run", chat, "--set", "policy.name=" + strange},
                                                   {"run", chat, "--set", strange + "=1"},
                                                   {"run", chat, "--" + strange},
                                                   {strange},
                                                   {"show", strange},
                                                   {"compare", chat, "--policies", strange}}) {
    const std::string error = refused(arguments);
    EXPECT_NE(error.find("a\\u001b[31mb\\nc\\rd\\u007f\\u202e"), std::string::npos) << error;
  }
}

std::string error_of_line(const std::string& line) {
  try {
    read_launch_line(line);
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(LaunchLine, NineThousandUnknownFlagsAreOneShortLine) {
  std::string many = "vllm serve meta-llama/Llama-3.1-8B-Instruct", strays = many;
  for (int i = 0; i < 9000; ++i) many += " --unknown" + std::to_string(i);
  EXPECT_EQ(
      error_of_line(many),
      "--from: --unknown0 is not a known flag of vllm; --unknown1 is not a known flag of vllm; --unknown2 is "
      "not a known flag of vllm; and 8997 more; --ignore-flags unknown0,unknown1,unknown2,unknown3,unknown4,"
      "unknown5,unknown6,unknown7,unknown8,unknown9,unknown10,unknown11,... leaves them out");
  for (int i = 0; i < 9000; ++i) strays += " stray";
  EXPECT_EQ(error_of_line(strays),
            "--from: \"stray\" does not belong to a flag; \"stray\" does not belong to a flag; \"stray\" "
            "does not belong to a flag; "
            "and 8997 more; --ignore-flags stray leaves it out");
}

}  // namespace
}  // namespace kvcap::given_values_test
