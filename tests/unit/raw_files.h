// Small raw files to read, in a folder that goes with the test.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "base/input_error.h"
#include "workload/workload.h"

namespace kvcap {

inline std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

class RawFiles : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / ("kvcap_raw_" + std::to_string(getpid()));
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name, std::ios::binary) << text;
    return (folder_ / name).string();
  }
  // A file of this kind, whose sessions arrive when it says.
  WorkloadOptions holding(const std::string& kind, const std::string& text) const {
    WorkloadOptions options;
    options.source.kind = kind;
    options.source.path = write("t", text);
    options.arrivals.process = ArrivalProcess::trace;
    return options;
  }
  std::string refusal(const std::string& kind, const std::string& text) const {
    return error_of(holding(kind, text));
  }
  // The message without the folder, or "" when the file is accepted.
  std::string error_of(const WorkloadOptions& options) const {
    try {
      make_workload(options, 1);
      return "";
    } catch (const InputError& error) {
      return without_folder(error.what());
    }
  }
  std::string without_folder(std::string text) const {
    const std::string folder = folder_.string() + "/";
    for (std::size_t at; (at = text.find(folder)) != std::string::npos;) text.erase(at, folder.size());
    return text;
  }

  std::filesystem::path folder_;
};

}  // namespace kvcap
