// README.md and the pages of scenarios/tasks/ show commands with their output: "$ " begins a command, and
// what follows it is what it prints, up to a line "...". With KVCAP_WRITE_GOLDEN=1 the pages are written
// anew.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <string>
#include <string_view>
#include <vector>

#include "unit/reader.h"

namespace kvcap::task_pages_test {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFence = "```";

// A command of a page: lines `begin` to before `end` are its output there.
struct Shown {
  std::string command;
  std::size_t begin, end;
};

std::vector<Shown> commands_of(const std::vector<std::string>& page) {
  std::vector<Shown> commands;
  bool is_code = false, is_output = false;
  for (std::size_t i = 0; i < page.size(); ++i) {
    const bool is_command = page[i].starts_with("$ ");
    if (page[i].starts_with(kFence)) is_code = !is_code;
    if (is_output && (is_command || !is_code)) commands.back().end = i;
    is_output = is_code && (is_output || is_command);
    if (!is_command || !is_code) continue;
    std::string command = page[i].substr(2);
    while (command.ends_with('\\') && i + 1 < page.size()) command += '\n' + page[++i];
    commands.push_back({command, i + 1, i + 1});
  }
  return commands;
}

bool leaves_out(const Shown& shown, const std::vector<std::string>& page) {
  return shown.end > shown.begin && page[shown.end - 1] == "...";
}

// What the page should show: as many lines as it shows now, if it leaves some out.
std::vector<std::string> wanted(const Shown& shown, const std::vector<std::string>& page,
                                const std::string& output) {
  std::vector<std::string> lines = lines_of(output);
  const std::size_t most = shown.end - shown.begin - 1;
  if (!leaves_out(shown, page) || lines.size() <= most) return lines;
  lines.resize(most);
  lines.emplace_back("...");
  return lines;
}

std::string text_of(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + '\n';
  return text;
}

class TaskPages : public Reader, public testing::WithParamInterface<std::string> {
 protected:
  TaskPages() {
    install(kvcap_program());
    fs::create_symlink(kvcap_program(), folder_ / "build" / "kvcap");
  }
};

TEST_P(TaskPages, ShowWhatTheirCommandsPrint) {
  const fs::path file = fs::path(KVCAP_SOURCE_DIR) / GetParam();
  const std::vector<std::string> page = lines_of(read_file(file));
  std::vector<std::string> now;
  std::size_t copied = 0;
  const auto copy_to = [&](std::size_t end) {
    for (; copied < end; ++copied) now.push_back(page[copied]);
  };
  for (const Shown& shown : commands_of(page)) {
    const Outcome outcome = shell(shown.command);
    EXPECT_EQ(outcome.exit_code, 0) << shown.command << '\n' << outcome.err;
    const std::vector<std::string> lines = wanted(shown, page, outcome.out);
    copy_to(shown.begin);
    now.insert(now.end(), lines.begin(), lines.end());
    copied = shown.end;
  }
  copy_to(page.size());
  if (std::getenv("KVCAP_WRITE_GOLDEN")) {
    std::ofstream(file) << text_of(now);
  } else {
    EXPECT_EQ(text_of(page), text_of(now)) << "KVCAP_WRITE_GOLDEN=1 writes the page anew";
  }
}

std::vector<std::string> pages() {
  std::vector<std::string> files = {"README.md"};
  for (const auto& entry : fs::directory_iterator(KVCAP_SOURCE_DIR "/scenarios/tasks")) {
    files.push_back("scenarios/tasks/" + entry.path().filename().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

INSTANTIATE_TEST_SUITE_P(Of, TaskPages, testing::ValuesIn(pages()), [](const auto& file) {
  std::string name =
      fs::path(file.param).parent_path().filename().string() + "_" + fs::path(file.param).stem().string();
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

TEST(TaskPagesOverview, NamesEveryPage) {
  const std::string overview = read_file(KVCAP_SOURCE_DIR "/scenarios/tasks/README.md");
  for (const std::string& file : pages()) {
    const std::string name = fs::path(file).filename().string();
    if (name == "README.md") continue;
    EXPECT_NE(overview.find("(" + name + ")"), std::string::npos) << name;
  }
}

// What README.md asks first is answered on a page of its own.
TEST(TaskPagesOverview, HasTheCommandsOfTheReadme) {
  const std::string readme = read_file(KVCAP_SOURCE_DIR "/README.md");
  std::string all;
  for (const std::string& file : pages()) {
    if (file != "README.md") all += read_file(fs::path(KVCAP_SOURCE_DIR) / file);
  }
  all = std::regex_replace(all, std::regex(R"( \\\n +)"), " ");  // of commands of several lines
  int commands = 0;
  for (const std::string& line : lines_of(readme.substr(readme.find("## Five tasks")))) {
    if (line.starts_with("## Accuracy")) break;
    if (!line.starts_with("kvcap ")) continue;
    ++commands;
    EXPECT_NE(all.find(line + '\n'), std::string::npos) << line;
  }
  EXPECT_EQ(commands, 5);
}

// Of GitHub's: letters, digits, hyphens and underscores in lower case; blanks become hyphens.
std::string anchor_of(const std::string& heading) {
  std::string anchor;
  for (const char letter : heading) {
    const auto byte = static_cast<unsigned char>(letter);
    if (std::isalnum(byte) || letter == '-' || letter == '_') anchor += static_cast<char>(std::tolower(byte));
    if (letter == ' ') anchor += '-';
  }
  return anchor;
}

bool has_anchor(const fs::path& page, const std::string& anchor) {
  for (const std::string& line : lines_of(read_file(page))) {
    const std::size_t begin = line.find_first_not_of('#');
    if (begin == 0 || begin == std::string::npos || line[begin] != ' ') continue;
    if (anchor_of(line.substr(begin + 1)) == anchor) return true;
  }
  return false;
}

std::vector<std::string> targets_of(const std::string& text) {
  std::vector<std::string> targets;
  for (std::size_t at = text.find("]("); at != std::string::npos; at = text.find("](", at + 2)) {
    const std::string target = text.substr(at + 2, text.find(')', at) - at - 2);
    if (target.find("://") == std::string::npos && target.find('\n') == std::string::npos)
      targets.push_back(target);
  }
  return targets;
}

TEST(Pages, LinkToFilesAndHeadingsThatExist) {
  int links = 0;
  for (const char* folder :
       {".", ".github", "scenarios", "sim", "traces", "models", "hwprofiles", "calibration", "tests"}) {
    for (auto entry = fs::recursive_directory_iterator(fs::path(KVCAP_SOURCE_DIR) / folder);
         entry != fs::recursive_directory_iterator(); ++entry) {
      if (folder == std::string_view(".")) entry.disable_recursion_pending();
      if (entry->path().extension() != ".md") continue;
      for (const std::string& target : targets_of(read_file(entry->path()))) {
        const std::string file = target.substr(0, target.find('#'));
        const fs::path path = file.empty() ? entry->path() : entry->path().parent_path() / file;
        EXPECT_TRUE(fs::exists(path)) << entry->path() << " links to " << target;
        ++links;
        if (target.find('#') == std::string::npos) continue;
        EXPECT_TRUE(has_anchor(path, target.substr(target.find('#') + 1)))
            << entry->path() << " links to " << target;
      }
    }
  }
  EXPECT_GT(links, 150);
}

}  // namespace
}  // namespace kvcap::task_pages_test
