// The program in a process of its own, with a folder that is gone afterwards.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "unit/process.h"
#include "unit/programs.h"

namespace kvcap {

inline std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class Cli : public testing::Test {
 protected:
  Cli() : folder_(std::filesystem::temp_directory_path() / ("kvcap_cli_" + std::to_string(getpid()))) {
    std::filesystem::create_directories(folder_);
    write("chat.json",
          R"({"schema": "kvcap.scenario/1", "model": "llama-2-7b", "hardware": "a100-40g-4x-pm9a3",
        "workload": {"source": {"kind": "chat"}, "arrivals": {"sessions_per_s": 0.1}, "sessions": 60},
        "policy": {"name": "hcache", "tiers": [{"kind": "ssd"}]}})");
  }
  ~Cli() override { std::filesystem::remove_all(folder_); }

  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name) << text;
  }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  struct Outcome {
    int exit_code;
    std::string out, err;
  };

  // `prepare` runs in the new process.
  pid_t start(const std::vector<std::string>& arguments, void (*prepare)() = nullptr) const {
    return start_process([&] {
      if (prepare) prepare();
      const std::string binary = kvcap_program();
      std::vector<char*> argv = {const_cast<char*>(binary.c_str())};
      for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
      argv.push_back(nullptr);
      if (!freopen(path("out").c_str(), "w", stdout) || !freopen(path("err").c_str(), "w", stderr))
        _exit(126);
      execv(binary.c_str(), argv.data());
      _exit(127);
    });
  }
  // Until the program itself has said what a signal does; the process before it does not catch any.
  static void wait_until_it_catches(pid_t pid, int signal) {
    for (int tries = 0; tries < 3000; ++tries) {
      const std::string status = read_file("/proc/" + std::to_string(pid) + "/status");
      const std::size_t at = status.find("SigCgt:");
      const uint64_t caught = at == std::string::npos ? 0 : std::stoull(status.substr(at + 7), nullptr, 16);
      if (caught >> (signal - 1) & 1) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  }
  Outcome finish(pid_t pid) const {
    const int status = wait_for_process(pid);
    return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), read_file(path("out")),
            read_file(path("err"))};
  }
  static std::vector<pid_t> children_of(pid_t pid) {
    const std::string number = std::to_string(pid);
    std::ifstream list("/proc/" + number + "/task/" + number + "/children");
    return {std::istream_iterator<pid_t>(list), {}};
  }
  // Until it simulates.
  static void wait_for_worker_of(pid_t pid) {
    for (int i = 0; i < 600 && children_of(pid).empty(); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  Outcome kvcap(const std::vector<std::string>& arguments) const { return finish(start(arguments)); }

  std::filesystem::path folder_;
};

}  // namespace kvcap
