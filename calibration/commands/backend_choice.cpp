#include <array>
#include <cstdio>
#include <string_view>

#include "base/input_error.h"
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
  std::fprintf(stderr, "kvcap-calibrate: no GPU (%s); the CPU takes its place\n", why.c_str());
  return make_cpu_backend();
}

void require_folder_of(const std::filesystem::path& out) {
  const std::filesystem::path folder = out.has_parent_path() ? out.parent_path() : ".";
  if (!std::filesystem::is_directory(folder)) {
    throw InputError("--out: found \"" + out.string() + "\", whose folder does not exist");
  }
}

void add_backend_option(CLI::App& command, std::string* name) {
  command.add_option("--backend", *name, "auto (default), cuda or cpu");
}

}  // namespace kvcap::calibration
