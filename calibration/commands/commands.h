// Subcommands of kvcap-calibrate, one per file, and the options that they share.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "calibration/backend.h"

namespace kvcap::calibration {

void add_check(CLI::App& app);
void add_import(CLI::App& app);
void add_profile(CLI::App& app);
void add_twin(CLI::App& app);

// Creates the backend `name`. "auto" is the GPU if there is one; otherwise it prints the reason to stderr and
// takes the CPU. Throws InputError.
std::unique_ptr<Backend> make_backend(const std::string& name);
// Adds the option --backend, which several commands share.
void add_backend_option(CLI::App& command, std::string* name);

// Adds the option --budget, in seconds, of commands whose journal lets the next call continue.
void add_budget_option(CLI::App& command, std::optional<double>* budget_s);

// Throws InputError if the folder of `out` does not exist, if `out` is one of `inputs`, or if `out` is a file
// that kvcap-calibrate did not write.
void require_place_for(const std::filesystem::path& out, std::span<const std::string> inputs = {});
// Makes the checks of require_place_for() for `out` and OUT.measurements.jsonl.
void require_place_for_measured(const std::filesystem::path& out);

// Thrown if a check fails; exit code 3.
class CheckFailed : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace kvcap::calibration
