// Small documents of the schemas that a report is made of, with numbers that a test can follow.
#pragma once

#include <string>
#include <vector>

#include "report/report_data.h"

namespace kvcap {

// A result of three replications: p99 TTFT +- half_width_ms, stored KiB a token, SSD reads busy.
inline Json result(const std::string& policy, double p99_ms, double half_width_ms, double stored_kib,
                   double busy, const std::string& scenario = "chat") {
  return {{"schema", "kvcap.result/1"},
          {"scenario", {{"name", scenario}, {"seed", 1}}},
          {"setting", policy},
          {"policy", policy},
          {"is_bound", policy == "ideal"},
          {"metrics",
           {{"stable", {{"verdict", "stable"}, {"reason", "it is"}}},
            {"mean_ttft_ms", p99_ms / 4},
            {"p99_ttft_ms", p99_ms},
            {"mean_service_ttft_with_history_ms", p99_ms / 5},
            {"token_hit_rate", policy == "recompute" ? 0.0 : 0.9},
            {"request_hit_rate", 0.8},
            {"stored_bytes_per_token", 1024 * stored_kib},
            {"utilization", {{"gpu", 0.3}, {"ssd_read", busy}}},
            {"bound_by", "ssd_read"},
            {"ssd_writes", {{"lifetime_years", 2.5}}}}},
          {"intervals", {{"p99_ttft_ms", {{"mean", p99_ms}, {"half_width", half_width_ms}}}}}};
}

inline Json comparison(std::vector<Json> results, std::vector<Json> differences = {}) {
  return {{"schema", "kvcap.compare/1"},
          {"results", std::move(results)},
          {"differences", std::move(differences)}};
}

inline Json difference(const std::string& setting, const std::string& against, double value,
                       double half_width) {
  return {{"setting", setting},
          {"against", against},
          {"metric", "p99_ttft_ms"},
          {"difference", value},
          {"interval", {value - half_width, value + half_width}}};
}

// 2 requests/s (1.9 to 2.2) within a p99 TTFT of 500 ms; at 2.5 p99 is 900 ms and 4 % of the turns are
// rejected.
inline Json capacity_document() {
  const auto point = [](double load, double p99_ms, double rejected_share, Json missed) -> Json {
    return {{"requests_per_s", load},
            {"stable", "stable"},
            {"missed", std::move(missed)},
            {"metrics",
             {{"mean_ttft_ms", p99_ms / 4},
              {"p99_ttft_ms", p99_ms},
              {"p99_tpot_ms", 20},
              {"rejected", 100 * rejected_share},
              {"rejected_share", rejected_share},
              {"truncated", 0},
              {"truncated_share", 0},
              {"output_throughput", 100 * load},
              {"request_goodput", 0.9 * load}}},
            {"half_widths", {{"p99_ttft_ms", 5}}}};
  };
  return {{"schema", "kvcap.capacity/1"},
          {"name", "chat"},
          {"policy", "hcache"},
          {"meet", {{"p99_ttft_ms", {{"max", 500}}}}},
          {"unit", "requests_per_s"},
          {"capacity", {{"mean", 2}, {"interval", {1.9, 2.2}}}},
          {"limit", "p99_ttft_ms"},
          {"curve", {point(1, 100, 0, nullptr), point(2.5, 900, 0.04, "p99_ttft_ms")}}};
}

inline Json restoration(double hcache_s, double kv_offload_s) {
  const auto entry = [](const char* policy, double restore_s, double closed_form_s, double stored) -> Json {
    return {{"policy", policy},
            {"restore_s", restore_s},
            {"prefill_s", 0.01},
            {"ttft_s", restore_s + 0.01},
            {"closed_form_restore_s", closed_form_s},
            {"schedule", {{"hidden_layers", 30}, {"kv_layers", 2}, {"recompute_layers", 0}}},
            {"stored_bytes_per_token", stored},
            {"read_bytes", 1e9},
            {"bound", "io"}};
  };
  return {{"schema", "kvcap.restore/1"},
          {"model", "m"},
          {"hardware", "h"},
          {"tokens", 4096},
          {"new_tokens", 64},
          {"tier", "ssd"},
          {"policies",
           {entry("kv_offload", kv_offload_s, kv_offload_s, 1024 * 512),
            entry("hcache", hcache_s, hcache_s + 0.001, 1024 * 264), entry("ideal", 0, 0, 0)}}};
}

inline Json check(const std::string& id, const std::string& verdict, double error, bool promised = false) {
  return {{"id", id},       {"suite", "s"},         {"simulated", 1.0},   {"reference", {1.0, 2.0}},
          {"error", error}, {"promised", promised}, {"verdict", verdict}, {"reason", nullptr}};
}

inline Json validation(std::vector<Json> checks) {
  return {{"schema", "kvcap.validation/1"},
          {"checks", std::move(checks)},
          {"summary",
           {{"s", {{"inside", 1}, {"near", 1}, {"outside", 1}, {"not comparable", 1}, {"worst", "c"}}}}}};
}

inline ReportDocument input(const std::string& name, Json content, bool is_before = false) {
  return {name, name + ".json", is_before, std::move(content)};
}

inline Json sweep(std::vector<double> p99_ms, std::vector<std::string> verdicts) {
  return {{"schema", "kvcap.sweep_rows/1"},
          {"name", "s"},
          {"parameters", {"hardware.ssd.count", "policy.name"}},
          {"metrics", {"p99_ttft_ms", "stable.verdict"}},
          {"rows", 4},
          {"total_rows", 4},
          {"columns",
           {{"hardware.ssd.count", {1, 1, 4, 4}},
            {"policy.name", {"a", "b", "a", "b"}},
            {"p99_ttft_ms", std::move(p99_ms)},
            {"stable.verdict", std::move(verdicts)},
            {"status", {"ok", "ok", "ok", "failed"}}}},
          {"base", nullptr}};
}

}  // namespace kvcap
