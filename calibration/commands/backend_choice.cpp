#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string_view>
#include <system_error>

#include "base/files.h"
#include "base/input_error.h"
#include "base/output_paths.h"
#include "base/text/print.h"
#include "calibration/commands/commands.h"

namespace kvcap::calibration {

std::unique_ptr<Backend> make_backend(const std::string& name) {
  constexpr std::array<std::string_view, 3> kNames = {"auto", "cuda", "cpu"};
  if (name == "cpu") return make_cpu_backend();
  if (name != "auto" && name != "cuda") {
    throw InputError("--backend: found \"" + name + "\", allowed: auto, cuda, cpu" +
                     suggestion(name, kNames));
  }
  std::string why;
  std::unique_ptr<Backend> gpu = make_cuda_backend(&why);
  if (gpu) return gpu;
  if (name == "cuda") throw InputError("--backend cuda: " + why);
  tell("kvcap-calibrate: no GPU (" + why + "); the CPU takes its place");
  return make_cpu_backend();
}

namespace {

namespace fs = std::filesystem;

// True iff the file is a measured or imported profile, a twin, a journal, or empty. Hand-written profiles
// must not be overwritten.
bool is_ours(const fs::path& path) {
  constexpr int64_t kMostBytes = 1 << 30;
  const std::string text = read_file(path, kMostBytes);
  if (text.empty() || text.starts_with(R"({"schema":"kvcap.measurements/1")")) return true;
  const nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object()) return false;
  if (json.value("schema", nlohmann::json()) == "kvcap.twin/1") return true;
  const nlohmann::json provenance = json.value("provenance", nlohmann::json());
  if (!provenance.is_object()) return false;
  const nlohmann::json source = provenance.value("source", nlohmann::json());
  if (!source.is_string()) return false;
  const std::string whose = source.get<std::string>();
  return whose.starts_with("kvcap-calibrate ") || whose.starts_with("kernel times of ");
}

void refuse_foreign(const fs::path& path, std::span<const std::string> inputs) {
  std::error_code none;
  refuse_no_file("--out", path, inputs);
  if (fs::is_regular_file(path, none) && !is_ours(path)) {
    throw InputError(
        "--out: " + path.string() +
        " already exists and was not written by kvcap-calibrate; choose another file or remove it");
  }
}

}  // namespace

void require_place_for(const fs::path& out, std::span<const std::string> inputs) {
  const fs::path folder = out.has_parent_path() ? out.parent_path() : ".";
  if (!fs::is_directory(folder)) {
    throw InputError("--out: found \"" + out.string() + "\", whose folder does not exist");
  }
  refuse_foreign(out, inputs);
}

void require_place_for_measured(const fs::path& out) {
  require_place_for(out);
  fs::path measurements = out;
  measurements += ".measurements.jsonl";
  refuse_foreign(measurements, {});
}

void add_budget_option(CLI::App& command, std::optional<double>* budget_s) {
  command
      .add_option_function<double>(
          "--budget",
          [budget_s](double seconds) {
            if (!(seconds > 0)) {
              char found[40];
              std::snprintf(found, sizeof found, "%g", seconds);
              throw InputError(std::string("--budget: found ") + found + ", allowed: seconds above 0");
            }
            *budget_s = seconds;
          },
          "stop after this many seconds with exit code 130; run the same command again to continue")
      ->option_text("SECONDS");
}

void add_backend_option(CLI::App& command, std::string* name) {
  command.add_option("--backend", *name, "auto (default), cuda or cpu");
}

}  // namespace kvcap::calibration
