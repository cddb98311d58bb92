// A reader of the help and the pages, who types their commands into bash, in a folder that has scenarios/ and
// the others in it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "unit/cli.h"
#include "unit/process.h"

namespace kvcap {

inline std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    lines.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

class Reader : public Cli {
 protected:
  Reader() {
    std::filesystem::create_directories(folder_ / "bin");
    std::filesystem::create_directories(folder_ / "build");
    for (const char* folder : {"scenarios", "traces", "models", "hwprofiles"}) {
      std::filesystem::create_symlink(std::filesystem::path(KVCAP_SOURCE_DIR) / folder, folder_ / folder);
    }
  }

  // Found by its name alone.
  void install(const std::string& binary) const {
    std::filesystem::create_symlink(binary, folder_ / "bin" / std::filesystem::path(binary).filename());
  }

  // 124 is what timeout(1) says of what takes longer than the limit, with sanitizers fifteen times as long.
  Outcome shell(const std::string& command, int most_s = 60) const {
#ifdef __SANITIZE_ADDRESS__
    most_s *= 15;
#endif
    write("command.sh", "cd '" + folder_.string() + "' && PATH=\"$PWD/bin:$PATH\"\n" + command + "\n");
    const int status = shell_status("timeout --foreground " + std::to_string(most_s) + " bash '" +
                                    path("command.sh") + "' >'" + path("out") + "' 2>'" + path("err") + "'");
    return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), read_file(path("out")),
            read_file(path("err"))};
  }
};

}  // namespace kvcap
