#include <cstdlib>
#include <map>

#include "calibration/tables/tables.h"

namespace kvcap::calibration {
namespace {

// Returns the bytes per element of A and of B.
std::pair<double, double> element_bytes(const TableRow& row) {
  static const std::map<std::string, std::pair<double, double>> kFormats = {{"float32", {4, 4}},
                                                                            {"float16", {2, 2}},
                                                                            {"bfloat16", {2, 2}},
                                                                            {"fp8", {1, 1}},
                                                                            {"nvfp4", {0.5, 0.5625}}};
  if (!row.has("dtype")) return {2, 2};
  const auto found = kFormats.find(row.text("dtype"));
  if (found == kFormats.end()) row.refuse("dtype", "float32, float16, bfloat16, fp8, nvfp4");
  return found->second;
}

void add_gemm(const TableRow& row, ImportedTimes* times) {
  const auto [activation, weight] = element_bytes(row);
  times->gemms.push_back({row.integer(row.first_of({"m", "tokens"})), row.integer("n"), row.integer("k"),
                          row.time_s(), activation, weight});
}

void add_collective_row(const TableRow& row, ImportedTimes* times) {
  add_collective(row.text("op"),
                 {row.integer(row.first_of({"num_gpus", "gpus"}), 2), row.number("bytes", 1), row.time_s()},
                 times);
}

void add_attention(const TableRow& row, ImportedTimes* times) {
  AttentionTime time;
  time.format = Format::bfloat16;
  if (row.has("q_kv_heads")) {
    const std::string& heads = row.text("q_kv_heads");
    char* rest = nullptr;
    time.query_heads = std::strtoll(heads.c_str(), &rest, 10);
    if (*rest != '/') row.refuse("q_kv_heads", "query heads/KV heads, as 32/8");
    time.kv_heads = std::strtoll(rest + 1, nullptr, 10);
    if (time.query_heads < 1 || time.kv_heads < 1) row.refuse("q_kv_heads", "numbers from 1");
  } else {
    time.query_heads = row.integer("q_heads");
    time.kv_heads = row.integer("kv_heads");
  }
  time.head_dim = row.has("head_dim") ? row.integer("head_dim") : 128;
  time.batch = row.has("batch") ? row.integer("batch") : 1;
  const std::string fresh = row.first_of({"new_tokens", "isl"});
  const std::string cached = row.first_of({"cached_tokens", "cached_kv", "ctx"});
  time.new_tokens = fresh.empty() ? 1 : row.integer(fresh);
  time.cached_tokens = cached.empty() ? 0 : row.integer(cached, 0);
  // The profile models one prompt per call, or a batch that decodes.
  if (time.new_tokens > 1 && time.batch > 1) {
    ++times->left_out["several prompts at once"];
    return;
  }
  time.time.time_s = row.time_s();
  times->attention.push_back(time);
}

}  // namespace

AddRow own_table(const TableRow& row) {
  if (row.has("n") && row.has("k") && !row.first_of({"m", "tokens"}).empty()) return add_gemm;
  if (row.has("op") && row.has("bytes") && !row.first_of({"num_gpus", "gpus"}).empty())
    return add_collective_row;
  if (row.has("q_kv_heads") || (row.has("q_heads") && row.has("kv_heads"))) return add_attention;
  return nullptr;
}

}  // namespace kvcap::calibration
