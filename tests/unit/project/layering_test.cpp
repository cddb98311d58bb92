// Who may know whom: every #include "folder/..." under sim/ must point to the same folder or to one that is
// listed for it; calibration/, which is built without the simulator, knows what machines and models are and
// what times follow from them.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <string>

namespace kvcap::layering_test {
namespace {

const std::map<std::string, std::set<std::string>> kMayInclude = {
    {"base", {}},
    {"spec", {"base"}},
    {"workload", {"base"}},
    {"metrics", {"base"}},
    {"cost", {"spec", "base"}},
    {"state", {"spec", "base"}},
    {"policy", {"state", "cost", "spec", "base"}},
    {"des", {"cost", "spec", "base"}},
    {"engine", {"policy", "state", "cost", "des", "metrics", "workload", "spec", "base"}},
    {"fleet", {"engine", "state", "des", "metrics", "workload", "base"}},
    {"scenario", {"fleet", "engine", "policy", "state", "workload", "spec", "base"}},
    {"launch", {"scenario", "fleet", "engine", "policy", "spec", "base"}},
    {"run",
     {"scenario", "fleet", "engine", "policy", "state", "cost", "des", "metrics", "workload", "spec",
      "base"}},
    {"plan", {"run", "scenario", "spec", "metrics", "workload", "base"}},
    {"advise", {"plan", "run", "scenario", "spec", "metrics", "workload", "base"}},
    {"text", {"advise", "plan", "validate", "fit", "observe", "scenario", "metrics", "base"}},
    {"documents", {"text", "metrics", "base"}},
    {"report", {"documents", "text", "plan", "metrics", "base"}},
    {"observe", {"metrics", "base"}},
    {"fit", {"run", "plan", "scenario", "cost", "spec", "metrics", "workload", "base"}},
    {"validate",
     {"run", "fit", "observe", "plan", "scenario", "policy", "cost", "spec", "metrics", "workload", "base"}},
    {"library", {"plan", "scenario", "metrics", "base"}},
    {"whatif",
     {"run", "launch", "scenario", "engine", "policy", "state", "cost", "spec", "workload", "base"}},
    {"serve", {"scenario", "engine", "policy", "workload", "base"}},
    {"calibration", {"cost", "spec", "base"}},
    {"commands", {"run",  "serve",   "whatif",  "report",   "documents", "text",     "validate",
                  "fit",  "observe", "advise",  "plan",     "launch",    "scenario", "policy",
                  "cost", "spec",    "metrics", "workload", "engine",    "base"}},
};

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.find('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

bool is_source(const std::filesystem::path& file) {
  const std::string kind = file.extension().string();
  return kind == ".h" || kind == ".cpp" || kind == ".cu";
}

// Checks the includes of one file of the folder `from`; returns how many there are.
int check_includes(const std::filesystem::path& file, const std::string& from) {
  int includes = 0;
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("#include <simgrid/") || line.starts_with("#include <xbt/")) {
      EXPECT_EQ(from, "des") << file << " includes SimGrid";
    }
    if (!line.starts_with("#include \"")) continue;
    ++includes;
    const std::string to = folder_of(line.substr(10));
    EXPECT_TRUE(to == from || kMayInclude.at(from).contains(to)) << file << ": " << line;
    const bool shows_simgrid = to == "des" && !line.starts_with("#include \"des/world.h\"");
    EXPECT_TRUE(from == "des" || !shows_simgrid) << file << ": " << line;
  }
  return includes;
}

TEST(Layering, FollowsTheArrows) {
  const std::filesystem::path root = std::filesystem::path(KVCAP_SOURCE_DIR) / "sim";
  int includes = 0;
  for (const auto& file : std::filesystem::recursive_directory_iterator(root)) {
    const std::string name = std::filesystem::relative(file.path(), root).string();
    if (!is_source(file.path()) || name == "main.cpp") continue;
    const std::string from = folder_of(name);
    ASSERT_TRUE(kMayInclude.contains(from))
        << "sim/" << name << " lies in a folder that has no place in the house";
    includes += check_includes(file.path(), from);
  }
  EXPECT_GT(includes, 100);
}

TEST(Layering, CalibrationNeedsNoSimulator) {
  const std::filesystem::path root = std::filesystem::path(KVCAP_SOURCE_DIR) / "calibration";
  int includes = 0;
  for (const auto& file : std::filesystem::recursive_directory_iterator(root)) {
    if (is_source(file.path())) includes += check_includes(file.path(), "calibration");
  }
  EXPECT_GT(includes, 20);
}

// Two types of one name make one program of both: each translation unit would take its own for the other.
TEST(Layering, NoTwoHeadersDefineATypeOfOneName) {
  std::map<std::string, std::string> defined;  // the header by the type
  const std::filesystem::path root = std::filesystem::path(KVCAP_SOURCE_DIR) / "sim";
  const std::regex definition("(?:struct|class|enum class) (\\w+)[^;]*\\{.*");
  for (const auto& file : std::filesystem::recursive_directory_iterator(root)) {
    if (file.path().extension() != ".h") continue;
    std::ifstream lines(file.path());
    for (std::string line; std::getline(lines, line);) {
      std::smatch match;
      if (!std::regex_match(line, match, definition)) continue;
      const auto [first, is_new] = defined.try_emplace(match[1], file.path().string());
      EXPECT_TRUE(is_new) << match[1] << " in " << first->second << " and " << file.path();
    }
  }
  EXPECT_GT(defined.size(), 200u);
}

}  // namespace
}  // namespace kvcap::layering_test
