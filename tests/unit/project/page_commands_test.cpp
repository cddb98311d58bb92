// The pages show commands in blocks. The commands of a page run as they stand, in its order and in one
// folder, unless a comment above the block says why they do not: "<!-- not run: needs a server -->". Commands
// after "$ " are those of task_pages_test.cpp, which also compares what they print.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <regex>
#include <string>
#include <string_view>
#include <vector>

#include "unit/reader.h"

namespace kvcap::page_commands_test {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFence = "```", kNotRun = "<!-- not run: ";

struct Block {
  std::vector<std::string> commands;
  bool is_run = true;
};

// Programs of this repository, and those that prepare their input.
bool is_command(const std::string& line) {
  static const std::regex kCommand(R"((\w+=\S+ )*(build/)?(kvcap|kvcap-calibrate|curl|python3|seq) .*)");
  return std::regex_match(line, kCommand);
}

bool has_commands(const std::string& fence) {
  const std::string language = fence.substr(kFence.size());
  return language.empty() || language == "sh" || language == "bash";
}

std::vector<Block> blocks_of(const std::vector<std::string>& page) {
  std::vector<Block> blocks;
  bool is_code = false, is_read = false;
  for (std::size_t i = 0; i < page.size(); ++i) {
    if (page[i].starts_with(kFence)) {
      is_code = !is_code;
      is_read = is_code && has_commands(page[i]);
      if (is_read) blocks.push_back({.is_run = i == 0 || !page[i - 1].starts_with(kNotRun)});
      continue;
    }
    if (page[i].starts_with("$ ")) is_read = false;
    if (!is_read || !is_command(page[i])) continue;
    std::string command = page[i];
    while (command.ends_with('\\') && i + 1 < page.size()) command += '\n' + page[++i];
    blocks.back().commands.push_back(command);
  }
  std::erase_if(blocks, [](const Block& block) { return block.commands.empty(); });
  return blocks;
}

std::vector<Block> blocks_of(const std::string& file) {
  return blocks_of(lines_of(read_file(fs::path(KVCAP_SOURCE_DIR) / file)));
}

// README.md is left out: its commands stand on the task pages, as another test shows.
std::vector<std::string> pages() {
  std::vector<std::string> files;
  const fs::path root = KVCAP_SOURCE_DIR;
  for (const char* folder :
       {".github", "scenarios", "sim", "traces", "models", "hwprofiles", "calibration", "tests"}) {
    for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
      if (entry.path().extension() != ".md") continue;
      const std::string file = fs::relative(entry.path(), root).string();
      if (!blocks_of(file).empty()) files.push_back(file);
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

// A block of a page whose commands run.
struct Shown {
  std::string file;
  std::size_t index;
};

std::vector<Shown> shown() {
  std::vector<Shown> all;
  for (const std::string& file : pages()) {
    const std::vector<Block> blocks = blocks_of(file);
    for (std::size_t i = 0; i < blocks.size(); ++i)
      if (blocks[i].is_run) all.push_back({file, i});
  }
  return all;
}

class PageCommands : public Reader, public testing::WithParamInterface<Shown> {
 protected:
  PageCommands() {
    install(kvcap_program());
    fs::create_symlink(kvcap_program(), folder_ / "build" / "kvcap");
    fs::create_symlink(fs::path(KVCAP_SOURCE_DIR) / "sim", folder_ / "sim");
  }
};

TEST_P(PageCommands, RunAsTheyStand) {
  const std::vector<Block> blocks = blocks_of(GetParam().file);
  for (const std::string& command : blocks[GetParam().index].commands) {
    const Outcome outcome = shell(command, 300);
    EXPECT_EQ(outcome.exit_code, 0) << command << '\n' << outcome.err;
  }
}

INSTANTIATE_TEST_SUITE_P(Of, PageCommands, testing::ValuesIn(shown()), [](const auto& one) {
  const std::string& file = one.param.file;
  std::string name = file.substr(0, file.rfind('.')) + "_" + std::to_string(one.param.index + 1);
  std::replace_if(
      name.begin(), name.end(), [](char letter) { return !std::isalnum(letter); }, '_');
  return name;
});

// Blocks that are left out are counted here, and each says why.
TEST(PageCommandsThatDoNotRun, AreCountedAndSayWhy) {
  for (const std::string& file : pages()) {
    for (const std::string& line : lines_of(read_file(fs::path(KVCAP_SOURCE_DIR) / file))) {
      if (!line.starts_with(kNotRun)) continue;
      EXPECT_GT(line.size(), kNotRun.size() + 10) << file << ": " << line;
    }
  }
  std::size_t run = 0, not_run = 0;
  for (const std::string& file : pages()) {
    for (const Block& block : blocks_of(file)) (block.is_run ? run : not_run) += block.commands.size();
  }
  EXPECT_EQ(not_run, 27U);
  EXPECT_GE(run, 29U);
}

}  // namespace
}  // namespace kvcap::page_commands_test
