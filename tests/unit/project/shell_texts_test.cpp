#include "commands/shell_texts.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "unit/process.h"
#include "unit/programs.h"
#include "unit/shell_word.h"

namespace kvcap::shell_texts_test {
namespace {

namespace fs = std::filesystem;

ProgramText small_program() {
  return {.name = "kvcap",
          .version = "1.2.3",
          .meaning = "what it is",
          .commands = {{.name = "run",
                        .meaning = "one run: of one scenario",
                        .options = {{.name = "--set", .meaning = "it's a [field]", .takes_value = true},
                                    {.name = "--json", .meaning = "print JSON"},
                                    {.name = "--launcher",
                                     .meaning = "who starts it",
                                     .takes_value = true,
                                     .allowed = {"local", "slurm"}}},
                        .positionals = {{.name = "scenario", .meaning = "a file"}},
                        .examples = "Example: kvcap run x.json"},
                       {.name = "compare",
                        .meaning = "several",
                        .options = {{.name = "--policies", .meaning = "which", .takes_value = true}}}},
          .fields = {{"seed", "an integer"}, {"policy.name", "a preset"}},
          .names = {{"--policies", {{"hcache", "ideal"}, false, true}}}};
}

std::string printed_by(const std::string& command) {
  const ShellOutput output = shell_output(command);
  EXPECT_EQ(output.status, 0) << command << "\n" << output.text;
  return output.text;
}

// What bash offers for a command line that ends with `words`' last one.
std::string completed(const std::string& script, const std::string& words, int at) {
  std::string path = (fs::temp_directory_path() / "kvcap-completion.XXXXXX").string();
  const int file = mkstemp(path.data());
  EXPECT_GE(file, 0);
  std::ofstream(path) << script << "\nCOMP_WORDS=(" << words << ")\nCOMP_CWORD=" << at
                      << "\n_kvcap\nprintf '%s\\n' \"${COMPREPLY[*]}\"\n";
  const std::string text = printed_by("cd / && bash --norc --noprofile " + shell_word(path));
  fs::remove(path);
  return text;
}

TEST(Completion, BashOffersCommandsOptionsFieldsAndValues) {
  const std::string script = bash_completion(small_program());
  EXPECT_EQ(completed(script, "kvcap co", 1), "compare\n");
  EXPECT_EQ(completed(script, "kvcap run --", 2), "--set --json --launcher\n");
  EXPECT_EQ(completed(script, "kvcap run --set po", 3), "policy.name=\n");
  EXPECT_EQ(completed(script, "kvcap run --launcher ''", 3), "local slurm\n");
  EXPECT_EQ(completed(script, "kvcap compare --policies h", 3), "hcache\n");
}

// Bash makes three words of --policies=h, or one if "=" is not in COMP_WORDBREAKS.
TEST(Completion, BashCompletesValuesAfterAnEqualsSign) {
  const std::string script = bash_completion(small_program());
  EXPECT_EQ(completed(script, "kvcap compare --policies =", 3), "hcache ideal\n");
  EXPECT_EQ(completed(script, "kvcap compare --policies = h", 4), "hcache\n");
  EXPECT_EQ(completed(script, "kvcap compare --policies = ideal,h", 4), "ideal,hcache\n");
  EXPECT_EQ(completed(script, "kvcap compare --policies=", 2), "--policies=hcache --policies=ideal\n");
  EXPECT_EQ(completed(script, "kvcap compare --policies=ideal,h", 2), "--policies=ideal,hcache\n");
  EXPECT_EQ(completed(script, "kvcap run --set = po", 4), "policy.name=\n");
  EXPECT_EQ(completed(script, "kvcap run --set seed =", 4), "\n") << "the value of a field";
}

TEST(Completion, ContinuesAListAfterItsCommas) {
  const std::string script = bash_completion(small_program());
  EXPECT_EQ(completed(script, "kvcap compare --policies ideal,h", 3), "ideal,hcache\n");
  EXPECT_EQ(completed(script, "kvcap compare --policies a,b,", 3), "a,b,hcache a,b,ideal\n");
  EXPECT_EQ(completed(script, "kvcap run --launcher local,s", 3), "\n") << "one word";
  const std::string zsh = zsh_completion(small_program()), fish = fish_completion(small_program());
  EXPECT_NE(zsh.find("--policies[which]:value:{_values -s , value hcache ideal}'"), std::string::npos) << zsh;
  EXPECT_NE(fish.find(R"(-x -a '(__fish_complete_list , "printf %s\\n hcache ideal")')"), std::string::npos)
      << fish;
}

TEST(Completion, ZshAndFishEscapeWhatTheirQuotesWouldEnd) {
  const std::string zsh = zsh_completion(small_program());
  EXPECT_NE(zsh.find(R"('*--set[it'\''s a \[field\]]:field:{compadd -S "" -a fields}')"), std::string::npos)
      << zsh;
  EXPECT_NE(zsh.find("'run:one run'"), std::string::npos) << zsh;
  const std::string fish = fish_completion(small_program());
  EXPECT_NE(fish.find(R"(-l set -d 'it'\''s a [field]' -x -a 'seed= policy.name=')"), std::string::npos)
      << fish;
  EXPECT_NE(fish.find("-l launcher -d 'who starts it' -x -a 'local slurm'"), std::string::npos) << fish;
}

TEST(Manual, HasEveryCommandOptionAndField) {
  const std::string page = manual_page(small_program());
  for (const char* line : {".TH KVCAP 1", ".SS run", "\\fB\\&\\-\\-launcher\\fR \\fIVALUE\\fR",
                           "Allowed: local, slurm", "\\fB\\&policy.name\\fR", "kvcap run x.json"}) {
    EXPECT_NE(page.find(line), std::string::npos) << line << "\n" << page;
  }
}

TEST(Manual, NoLineBeginsWithARequestThatIsText) {
  ProgramText program = small_program();
  program.commands[0].meaning = ".so /etc/passwd";
  program.commands[0].examples = "Example:\n.rm everything\n'quoted";
  const std::string page = manual_page(program);
  EXPECT_EQ(page.find("\n.so"), std::string::npos);
  EXPECT_EQ(page.find("\n.rm"), std::string::npos);
  EXPECT_EQ(page.find("\n'quoted"), std::string::npos);
}

TEST(Completion, TheProgramDescribesItself) {
  const std::string binary = shell_word(kvcap_program());
  const std::string script = printed_by(binary + " completion bash");
  EXPECT_EQ(completed(script, "kvcap swe", 1), "sweep\n");
  EXPECT_EQ(completed(script, "kvcap sweep --launcher ''", 3), "local slurm\n");
  EXPECT_EQ(completed(script, "kvcap run --set policy.na", 3), "policy.name=\n");
  EXPECT_EQ(completed(script, "kvcap compare --policies adap", 3), "adaptive\n");
  EXPECT_EQ(completed(script, "kvcap compare --policies recompute,hc", 3), "recompute,hcache\n");
  EXPECT_EQ(completed(script, "kvcap compare --gpu h200-", 3), "h200-sxm h200-sxm-8x h200-vm\n");
  EXPECT_EQ(completed(script, "kvcap plan --model qwen3-32", 3),
            "qwen3-32b qwen3-32b-awq qwen3-32b-fp8 qwen3-32b-nvfp4 qwen3-32b-redhat-nvfp4\n");
  EXPECT_EQ(completed(script, "kvcap run --engine v", 3), "vllm\n");
  EXPECT_EQ(completed(script, "kvcap restore --tier ss", 3), "ssd\n");
  EXPECT_EQ(completed(script, "kvcap run --workload ra", 3), "rag random\n");
  printed_by(binary + " completion zsh");
  printed_by(binary + " completion fish");
  EXPECT_NE(printed_by(binary + " man").find("kvcap compare demo"), std::string::npos);
}

}  // namespace
}  // namespace kvcap::shell_texts_test
