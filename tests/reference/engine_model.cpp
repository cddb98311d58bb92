#include "reference/engine_model.h"

#include <unistd.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "unit/process.h"

namespace kvcap::reference {
namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;

// Runs the specification and prints its outcomes and the blocks that were evicted. Chains get numbers,
// because their hashes do not tell what they were made of.
constexpr const char* kDriver = R"(
import json, os, sys
sys.path.insert(0, os.path.dirname(sys.argv[1]))
sys.dont_write_bytecode = True
import engine_model

numbers = {}
def chain(self, i, size):
    mine = self.__dict__.setdefault("chains", {})
    if i not in mine:
        mine[i] = numbers.setdefault(tuple(self.stream[:(i + 1) * size]), len(numbers))
    return mine[i]
engine_model.Request.chain = chain

config = json.load(open(sys.argv[2]))
done, evicted = engine_model.simulate(config, [json.loads(line) for line in open(sys.argv[3])])
chains = list(numbers)
rows = [[len(chains[c]) // config["block_size"], chains[c][-1][0], chains[c][-1][1]] for c in evicted]
print(json.dumps({"done": done, "evicted": rows}))
)";

fs::path program() { return fs::path(KVCAP_SOURCE_DIR) / ".." / "shared" / "design" / "engine_model.py"; }

const std::string kAnswer = "answer:";

std::string name_of(Key text) {
  const Key first_answer = answer_text(0);
  return text >= first_answer ? kAnswer + std::to_string(text - first_answer) : "t" + std::to_string(text);
}

Key text_of(const std::string& name) {
  if (!name.starts_with(kAnswer)) return std::stoull(name.substr(1));
  return answer_text(std::stoll(name.substr(kAnswer.size())));
}

void write_config(const fs::path& file, const EngineOptions& options) {
  std::ofstream(file) << Json{
      {"block_size", options.block_size},          {"blocks", options.blocks},
      {"max_num_seqs", options.max_num_seqs},      {"max_num_batched_tokens", options.max_num_batched_tokens},
      {"step_s", options.step_overhead_s},         {"per_sequence_s", options.step_overhead_per_sequence_s},
      {"prefix_caching", options.prefix_caching},  {"async_scheduling", options.async_scheduling},
      {"cache_generated", options.cache_generated}};
}

void write_requests(const fs::path& file, std::span<const Request> requests) {
  std::ofstream lines(file);
  for (const Request& request : requests) {
    Json tokens = Json::array();
    for (const TextPart& part : request.prompt) tokens.push_back({name_of(part.text), part.tokens});
    lines << Json{{"id", request.id},
                  {"arrival_s", request.arrival_s},
                  {"tokens", tokens},
                  {"output_tokens", request.output_tokens}}
          << "\n";
  }
}

}  // namespace

EngineModel::EngineModel()
    : folder_(fs::temp_directory_path() / ("kvcap_model_" + std::to_string(getpid()))) {
  fs::create_directories(folder_);
  std::ofstream(folder_ / "driver.py") << kDriver;
}

EngineModel::~EngineModel() { fs::remove_all(folder_); }

std::string EngineModel::missing() {
  if (!fs::exists(program())) {
    return "NOT COMPARED: there is no specification at " + program().string() +
           "; put engine_model.py there to compare with it.";
  }
  return shell_status("python3 -c pass") == 0 ? "" : "NOT COMPARED: there is no python3";
}

EngineRun EngineModel::run(const EngineOptions& options, std::span<const Request> requests) const {
  write_config(folder_ / "config.json", options);
  write_requests(folder_ / "requests.jsonl", requests);
  std::string command = "python3";
  for (const fs::path& file :
       {folder_ / "driver.py", program(), folder_ / "config.json", folder_ / "requests.jsonl"})
    command += " '" + file.string() + "'";
  command += " > '" + (folder_ / "out.json").string() + "'";
  if (shell_status(command) != 0) throw std::runtime_error("failed: " + command);
  std::ifstream file(folder_ / "out.json");
  const Json printed = Json::parse(file);

  std::map<int64_t, Json> done;
  for (const Json& row : printed["done"]) done[row["id"].get<int64_t>()] = row;
  EngineRun run;
  for (const Request& request : requests) {
    const auto row = done.find(request.id);
    if (row == done.end()) {
      run.outcomes.push_back({.id = request.id, .refused = true});
      continue;
    }
    run.outcomes.push_back({.id = request.id,
                            .hit_tokens = row->second["hit_tokens"],
                            .ttft_s = row->second["ttft_s"],
                            .e2el_s = row->second["e2el_s"],
                            .preemptions = row->second["preemptions"]});
  }
  for (const Json& block : printed["evicted"])
    run.evicted.push_back({block[0], {text_of(block[1]), block[2].get<int64_t>()}});
  return run;
}

}  // namespace kvcap::reference
