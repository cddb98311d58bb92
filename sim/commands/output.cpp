#include "commands/output.h"

#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <system_error>

#include "base/files.h"
#include "base/input_error.h"
#include "metrics/format.h"
#include "metrics/write.h"

namespace kvcap {
std::string scenario_line(const Scenario& scenario, const RunResult& result) {
  const int64_t nodes = scenario.fleet.replicas;
  std::string line = scenario.name + "   " + scenario.model.name + " on " +
                     (nodes > 1 ? format_count(nodes) + " nodes of " : "") +
                     std::to_string(scenario.serving.tensor_parallel_size) + "x " +
                     scenario.hardware.gpu.name + " (" + scenario.hardware.provenance_kind + ")   " +
                     format_count(result.session_count, "session") + ", " +
                     format_count(result.turn_count, "turn");
  if (scenario.workload.arrivals.process != ArrivalProcess::trace) {
    char rate[40];
    std::snprintf(rate, sizeof rate, ", %g sessions/s", scenario.workload.arrivals.sessions_per_s);
    line += rate;
  }
  line += "   seed " + std::to_string(scenario.seed);
  if (scenario.replications > 1) line += ", " + std::to_string(scenario.replications) + " replications";
  return line;
}

void prepare_folder(const std::string& folder) {
  if (folder.empty()) return;
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (!error && !std::filesystem::is_directory(folder))
    error = std::make_error_code(std::errc::not_a_directory);
  if (!error && access(folder.c_str(), W_OK) != 0) error = std::make_error_code(std::errc::permission_denied);
  if (error) throw InputError("--out: " + folder + " cannot be written: " + error.message());
}

void write_run(const std::string& folder, const std::string& line, const RunResult& result) {
  const std::filesystem::path path(folder);
  std::filesystem::create_directories(path);
  std::string log = line + "\npolicy " + result.policy + "\n";
  for (const std::string& note : result.notes) log += "note: " + note + "\n";
  if (!result.turns.empty()) {
    NewFile requests(path / "requests.csv");
    requests_csv(result.turns, [&](std::string_view piece) { requests.append(piece); });
    requests.commit();
  }
  write_file(path / "run.log", log);
  write_file(path / "result.json", result_json(result));
}

}  // namespace kvcap
