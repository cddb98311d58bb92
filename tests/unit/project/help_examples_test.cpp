// Every help text shows one real command, and that command runs: as its reader would, in bash, from a folder
// that has scenarios/ and the others in it.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/embedded_pages.h"
#include "unit/reader.h"

namespace kvcap::help_examples_test {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kExample = "Example: ";

// The names below "Subcommands:", each at the beginning of a line.
std::vector<std::string> subcommands_of(const std::string& help) {
  std::vector<std::string> names;
  for (const std::string& line : lines_of(help.substr(help.find("Subcommands:")))) {
    if (line.size() > 2 && line.starts_with("  ") && line[2] != ' ')
      names.push_back(line.substr(2, line.find(' ', 2) - 2));
  }
  return names;
}

class HelpExamples : public Reader {
 protected:
  // The one example of a help text, which must call `program`.
  static std::string example_of(const std::string& help, const std::string& program) {
    std::vector<std::string> examples;
    for (const std::string& line : lines_of(help))
      if (line.starts_with(kExample)) examples.push_back(line.substr(kExample.size()));
    EXPECT_EQ(examples.size(), 1U) << help.substr(0, help.find("\n\n"));
    if (examples.empty()) return "";
    EXPECT_TRUE(examples.front().starts_with(program + " ")) << examples.front();
    return examples.front();
  }
};

// In the order of the help: report reads what compare has left.
TEST_F(HelpExamples, EveryExampleOfAHelpTextRuns) {
  install(kvcap_program());
  std::vector<std::string> names = {""};
  for (const std::string& name : subcommands_of(shell("kvcap --help").out)) names.push_back(name);
  ASSERT_GE(names.size(), 11U);
  for (const std::string& name : names) {
    std::string command = example_of(shell("kvcap " + name + " --help").out, "kvcap");
    // Its readers end it by Ctrl-C.
    if (name == "serve") command = "timeout --preserve-status -s INT 2 " + command;
    const Outcome outcome = shell(command);
    const bool needs_page = name == "serve" || command.find(".html") != std::string::npos;
    const std::string_view page =
        name == "whatif" ? embedded_whatif_page().html : embedded_report_page().html;
    if (needs_page && page.empty()) {
      // Built without Node.js or Emscripten.
      EXPECT_EQ(outcome.exit_code, 2) << command << "\n" << outcome.err;
      continue;
    }
    EXPECT_EQ(outcome.exit_code, 0) << command << "\n" << outcome.err;
    EXPECT_TRUE(!outcome.out.empty() || command.find(" > ") != std::string::npos ||
                command.find(" -o ") != std::string::npos)
        << command;
  }
}

// On the CPU: with toy sizes where there are any. A profile takes minutes, so that its example is only read.
TEST_F(HelpExamples, EveryExampleOfTheCalibrationRuns) {
  install(calibrate_program());
  std::vector<std::string> names = {""};
  for (const std::string& name : subcommands_of(shell("kvcap-calibrate --help").out)) names.push_back(name);
  ASSERT_GE(names.size(), 4U);
  for (const std::string& name : names) {
    const std::string help = shell("kvcap-calibrate " + name + " --help").out;
    const std::string command = example_of(help, "kvcap-calibrate");
    for (std::size_t at = command.find("--"); at != std::string::npos; at = command.find("--", at + 1)) {
      const std::string option = command.substr(at, command.find(' ', at) - at);
      EXPECT_NE(help.find("\n  " + option + " "), std::string::npos) << option << " is no option of " << name;
    }
    if (name == "profile") continue;
    const bool has_toys = help.find("--quick") != std::string::npos;
    const Outcome outcome = shell("CUDA_VISIBLE_DEVICES= " + command + (has_toys ? " --quick" : ""));
    EXPECT_EQ(outcome.exit_code, 0) << command << "\n" << outcome.err;
    EXPECT_FALSE(outcome.out.empty()) << command;
  }
}

}  // namespace
}  // namespace kvcap::help_examples_test
