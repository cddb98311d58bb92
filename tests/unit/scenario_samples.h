// A small model, server and scenario for tests of the loader, independent of the catalogue.
#pragma once

#include <string>

namespace kvcap {

inline std::string sample_model() {
  return R"({"name": "tiny", "num_hidden_layers": 4, "hidden_size": 256, "num_attention_heads": 8,
             "intermediate_size": 1024, "vocab_size": 1000, "max_position_embeddings": 2048})";
}

inline std::string sample_hardware() {
  return R"({"name": "box", "provenance": {"kind": "measured", "source": "invented for tests"},
             "gpu": {"count": 2, "peak_flops": 1e12, "memory_bytes": 1e9, "memory_bandwidth_bytes_per_s": 1e11},
             "pcie": {"h2d_bandwidth_bytes_per_s": 1e9, "d2h_bandwidth_bytes_per_s": 1e9},
             "dram": {"capacity_bytes": 4e9, "bandwidth_bytes_per_s": 1e10},
             "ssd": {"count": 2, "capacity_bytes": 1e10, "read_bandwidth_bytes_per_s": 1e9,
                     "write_bandwidth_bytes_per_s": 5e8}})";
}

// `more`: members to add, e.g. R"("seed": 7)".
inline std::string sample_scenario(const std::string& more = "") {
  return R"({"schema": "kvcap.scenario/1", "model": )" + sample_model() + R"(, "hardware": )" +
         sample_hardware() + R"(, "workload": {"source": {"kind": "chat"}})" +
         (more.empty() ? "" : ", " + more) + "}";
}

}  // namespace kvcap
