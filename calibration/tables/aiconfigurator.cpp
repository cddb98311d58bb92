#include <map>

#include "calibration/tables/tables.h"

namespace kvcap::calibration {
namespace {

constexpr double kMillisecond_s = 1e-3;

double latency_s(const TableRow& row) {
  const double time_s = row.number("latency") * kMillisecond_s;
  if (time_s <= 0) row.refuse("latency", "a time above 0");
  return time_s;
}

// Other formats have kernels that no profile distinguishes; --where gemm_dtype=fp8_block selects such a one.
void add_gemm_of_aic(const TableRow& row, ImportedTimes* times) {
  static const std::map<std::string, std::pair<double, double>> kFormats = {{"bfloat16", {2, 2}},
                                                                            {"float16", {2, 2}},
                                                                            {"fp8", {1, 1}},
                                                                            {"fp8_block", {1, 1}},
                                                                            {"nvfp4", {0.5, 0.5625}}};
  const std::string& name = row.text("gemm_dtype");
  const auto format = kFormats.find(name);
  if (format == kFormats.end() || (name == "fp8_block" && !times->selected.contains("gemm_dtype"))) {
    ++times->left_out["gemm_dtype " + name];
    return;
  }
  const auto [activation, weight] = format->second;
  times->gemms.push_back(
      {row.integer("m"), row.integer("n"), row.integer("k"), latency_s(row), activation, weight});
}

// Prompts have `isl` new tokens after `step` cached ones, decoding sees `isl` + `step` keys.
void add_attention_of_aic(const TableRow& row, ImportedTimes* times) {
  const std::string& kv_format = row.text("kv_cache_dtype");
  const bool is_half = kv_format == "bfloat16" || kv_format == "float16";
  if (!is_half && !times->selected.contains("kv_cache_dtype")) {
    ++times->left_out["kv_cache_dtype " + kv_format];
    return;
  }
  if (row.has("window_size") && row.integer("window_size", 0) > 0) {
    ++times->left_out["sliding windows"];
    return;
  }
  AttentionTime time;
  time.format = Format::bfloat16;
  time.batch = row.integer("batch_size");
  time.query_heads = row.integer("num_heads");
  time.kv_heads = row.integer("num_key_value_heads", 0);
  if (time.kv_heads == 0) time.kv_heads = time.query_heads;  // older tables: multi-head attention
  time.head_dim = row.integer("head_dim");
  const int64_t tokens = row.integer("isl");
  const int64_t step = row.has("step") ? row.integer("step", 0) : 0;
  const bool decodes = row.text("op_name").find("generation") != std::string::npos;
  time.new_tokens = decodes ? 1 : tokens;
  time.cached_tokens = decodes ? tokens + step - 1 : step;
  if (time.new_tokens > 1 && time.batch > 1) {  // the profile models one prompt per call
    ++times->left_out["several prompts at once"];
    return;
  }
  time.time.time_s = latency_s(row);
  times->attention.push_back(time);
}

// message_size counts elements.
void add_collective_of_aic(const TableRow& row, ImportedTimes* times) {
  const std::string& format = row.text(row.first_of({"nccl_dtype", "allreduce_dtype"}));
  if (format != "half" && format != "float16" && format != "bfloat16") {
    ++times->left_out["collectives of " + format];
    return;
  }
  // Engines launch graphs; the same kernels launched one by one are in the table, too.
  if (row.has("kernel_source") && row.text("kernel_source").ends_with("_eager") &&
      !times->selected.contains("kernel_source")) {
    ++times->left_out["collectives without a graph"];
    return;
  }
  constexpr double kElementBytes = 2;
  const CollectivePoint point{row.integer("num_gpus", 2), kElementBytes * row.number("message_size", 1),
                              latency_s(row)};
  const std::string op = row.has("op_name") ? row.text("op_name") : "all_reduce";
  add_collective(op, point, times);
}

}  // namespace

AddRow aiconfigurator_table(const TableRow& row) {
  if (!row.has("latency")) return nullptr;
  if (row.has("gemm_dtype")) return add_gemm_of_aic;
  if (row.has("num_key_value_heads") && row.has("kv_cache_dtype")) return add_attention_of_aic;
  if (row.has("message_size") && !row.first_of({"nccl_dtype", "allreduce_dtype"}).empty()) {
    return row.has("hidden_size") ? nullptr : AddRow{add_collective_of_aic};  // fused with norms otherwise
  }
  return nullptr;
}

}  // namespace kvcap::calibration
