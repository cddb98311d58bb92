// A simulated run as the server's metrics that a real one would have exported meanwhile: what
// kvcap observe reads of it, kvcap validate --run should find to agree with the simulation.
#pragma once

#include <string>

#include "metrics/result.h"

namespace kvcap {

class ExportedRun {
 public:
  struct Config {
    std::string model = "meta-llama/Llama-3.1-8B-Instruct";
    int block_size = 16;
    bool prefix_caching = true;
    double unix_s = 1.8e9;  // of the run's beginning
  };
  // REQUIRES: a result with its turns and one node.
  ExportedRun(RunResult result, Config config) : result_(std::move(result)), config_(std::move(config)) {}

  double end_s() const { return result_.number("duration"); }
  // As of `time_s` after the beginning, in vLLM's names; each sample with its time, as Prometheus' federation
  // exports it, since the run's time passes faster than the clock of the test.
  std::string vllm(double time_s) const;

 private:
  RunResult result_;
  Config config_;
};

}  // namespace kvcap
