// kvcap-calibrate's subcommands: one a file, each a few calls.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

#include "calibration/backend.h"

namespace kvcap::calibration {

void add_check(CLI::App& app);
void add_import(CLI::App& app);
void add_profile(CLI::App& app);
void add_twin(CLI::App& app);

// "auto" takes the GPU where there is one and says on stderr why not where there is none. Throws InputError.
std::unique_ptr<Backend> make_backend(const std::string& name);
// The option --backend, the same for every command.
void add_backend_option(CLI::App& command, std::string* name);

// Throws InputError where the folder that `out` is to be written to does not exist, and where `out` is one of
// `inputs` or a file that kvcap-calibrate did not write.
void require_place_for(const std::filesystem::path& out, std::span<const std::string> inputs = {});
// The same with OUT.measurements.jsonl.
void require_place_for_measured(const std::filesystem::path& out);

// A check that failed: exit code 3.
class CheckFailed : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace kvcap::calibration
