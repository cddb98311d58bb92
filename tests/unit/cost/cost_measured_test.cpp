// The cost model against measured kernels: relative errors per data set, with the coefficients that the
// data's own fits state, against the tolerances we promise. The figures are printed and recorded.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "cost/cost_model.h"
#include "unit/shared_data.h"

namespace kvcap::cost_measured_test {
namespace {

using Row = std::map<std::string, std::string>;

std::vector<std::string> split_csv_line(const std::string& line) {
  std::vector<std::string> cells(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      cells.emplace_back();
    } else if (c != '\r') {
      cells.back() += c;
    }
  }
  return cells;
}

std::vector<Row> read_csv(const std::string& file) {
  std::ifstream in(shared_data("hardware/" + file));
  std::string line;
  std::getline(in, line);
  const std::vector<std::string> columns = split_csv_line(line);
  std::vector<Row> rows;
  while (std::getline(in, line)) {
    const std::vector<std::string> cells = split_csv_line(line);
    Row row;
    for (std::size_t i = 0; i < columns.size() && i < cells.size(); ++i) row[columns[i]] = cells[i];
    rows.push_back(row);
  }
  return rows;
}

double number(const Row& row, const std::string& column) { return std::stod(row.at(column)); }
int64_t whole(const Row& row, const std::string& column) { return std::stoll(row.at(column)); }
double seconds(const Row& row, const std::string& column) { return number(row, column) * 1e-3; }

// Dense bf16 peak, memory bandwidth and SMs: datasheet_gpu.csv.
Gpu device(const std::string& name) {
  static const std::map<std::string, std::tuple<double, double, int64_t>> datasheet = {
      {"a100", {312e12, 2039e9, 108}},        {"a40", {149.7e12, 696e9, 84}},
      {"a6000", {154.8e12, 768e9, 84}},       {"h100", {989e12, 3350e9, 132}},
      {"h200", {989e12, 4800e9, 132}},        {"rtx4090", {165.2e12, 1008e9, 128}},
      {"rtxpro6000", {467.8e12, 1792e9, 188}}};
  const auto [peak_flops, bandwidth, sms] = datasheet.at(name);
  Gpu gpu;
  gpu.name = name;
  gpu.peak_flops = peak_flops;
  gpu.memory_bandwidth_bytes_per_s = bandwidth;
  gpu.sm_count = sms;
  return gpu;
}

// The smooth-maximum fit of a data set, printed as "e b c us".
Efficiency fitted_gemm(const std::string& set) {
  for (const Row& row : read_csv("fit_gemm.csv")) {
    if (row.at("set") != set) continue;
    std::istringstream in(row.at("smooth_p"));
    Efficiency efficiency{.model = EfficiencyModel::smooth_max};
    double constant_us = 0;
    in >> efficiency.efficiency >> efficiency.bandwidth_efficiency >> constant_us;
    efficiency.constant_s = constant_us * 1e-6;
    return efficiency;
  }
  ADD_FAILURE() << "no fit for " << set;
  return {};
}

struct Errors {
  std::vector<double> relative;

  void add(double modelled_s, double measured_s) {
    relative.push_back(std::abs(modelled_s / measured_s - 1));
  }
  double quantile(double p) const {
    std::vector<double> sorted = relative;
    std::sort(sorted.begin(), sorted.end());
    return sorted.at(
        std::min(sorted.size() - 1, static_cast<std::size_t>(p * static_cast<double>(sorted.size()))));
  }
};

void report(const std::string& what, const Errors& errors) {
  std::printf("  %-44s n %5zu   median %5.1f %%   p90 %5.1f %%\n", what.c_str(), errors.relative.size(),
              100 * errors.quantile(0.5), 100 * errors.quantile(0.9));
  std::string key = what;
  std::replace_if(
      key.begin(), key.end(), [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); }, '_');
  testing::Test::RecordProperty(key + "_median_percent", std::to_string(100 * errors.quantile(0.5)));
  testing::Test::RecordProperty(key + "_p90_percent", std::to_string(100 * errors.quantile(0.9)));
}

void expect_within(const std::string& what, const Errors& errors, double median, double p90) {
  ASSERT_FALSE(errors.relative.empty()) << what;
  report(what, errors);
  EXPECT_LE(errors.quantile(0.5), median) << what << ": median";
  EXPECT_LE(errors.quantile(0.9), p90) << what << ": p90";
}

class Measured : public testing::Test {
 protected:
  void SetUp() override { KVCAP_NEEDS_SHARED_DATA("hardware"); }
};

class MeasuredGemm : public Measured {};
class MeasuredTable : public Measured {};
class MeasuredAttention : public Measured {};
class MeasuredLayer : public Measured {};

// Below 64 rows a GEMM streams its weights, and the fits do not cover it.
constexpr int64_t kLeastTokens = 64;

struct GemmSet {
  std::string name, file, device, fit;
};

const std::vector<GemmSet> kGemmSets = {
    {"A100 (vidur)", "gemm_vidur.csv", "a100", "vidur a100 (7B,34B,70B TP1/2/4)"},
    {"A40 (vidur)", "gemm_vidur.csv", "a40", "vidur a40 (7B,34B,70B TP1/2/4)"},
    {"H100 (vidur)", "gemm_vidur.csv", "h100", "vidur h100 (7B,34B,70B TP1/2/4)"},
    {"H100 SXM (aiconfigurator)", "gemm_aic_bf16.csv", "h100", "aic h100"},
    {"H200 SXM (aiconfigurator)", "gemm_aic_bf16.csv", "h200", "aic h200"},
    {"H100 (LLMServingSim)", "gemm_llmservingsim.csv", "h100", "LSS h100"},
    {"RTX 4090 (LLMServingSim)", "gemm_llmservingsim.csv", "rtx4090", "LSS rtx4090"},
};

// Least absolute relative error over the A100 rows of gemm_aic_bf16.csv. Fitted to every second shape, the
// other shapes stay within the same tolerances (median 7.3 and 8.8 %, p90 23.6 and 16.7 %). The data's own
// fit (0.791, 0.671, 6.9 us) was made over 2,744 points, of which the file holds 180.
const Efficiency kA100Sxm{.model = EfficiencyModel::smooth_max,
                          .efficiency = 0.84,
                          .bandwidth_efficiency = 0.77,
                          .constant_s = 10.3e-6};

double row_s(const Efficiency& efficiency, const Gpu& gpu, const Row& row) {
  return gemm_s(efficiency, gpu, whole(row, "tokens"), whole(row, "n"), whole(row, "k"), 2, 2);
}

Errors gemm_errors(const std::string& file, const std::string& gpu_name, const Efficiency& efficiency) {
  const Gpu gpu = device(gpu_name);
  Errors errors;
  for (const Row& row : read_csv(file)) {
    if (row.at("device") != gpu_name || whole(row, "tokens") < kLeastTokens) continue;
    errors.add(row_s(efficiency, gpu, row), seconds(row, "t_ms"));
  }
  return errors;
}

TEST_F(MeasuredGemm, IsWithinNinePercentInTheMedianPerGemm) {
  for (const GemmSet& set : kGemmSets) {
    expect_within(set.name, gemm_errors(set.file, set.device, fitted_gemm(set.fit)), 0.09, 0.25);
  }
  expect_within("A100 SXM (aiconfigurator)", gemm_errors("gemm_aic_bf16.csv", "a100", kA100Sxm), 0.09, 0.25);
}

TEST_F(MeasuredGemm, IsWithinTenPercentOnA100SxmWithTheDatasOwnFit) {
  expect_within("A100 SXM, fit over more shapes",
                gemm_errors("gemm_aic_bf16.csv", "a100", fitted_gemm("aic a100")), 0.10, 0.25);
}

// Sums of the rows that share a layer: model, degree of tensor parallelism (where stated) and row count.
Errors layer_errors(const GemmSet& set, const Efficiency& efficiency) {
  const Gpu gpu = device(set.device);
  std::map<std::tuple<std::string, std::string, int64_t>, std::pair<double, double>> layers;
  for (const Row& row : read_csv(set.file)) {
    if (row.at("device") != set.device || whole(row, "tokens") < kLeastTokens) continue;
    const auto tp = row.find("tp");
    auto& [modelled_s, measured_s] =
        layers[{row.at("model"), tp == row.end() ? "1" : tp->second, whole(row, "tokens")}];
    modelled_s += row_s(efficiency, gpu, row);
    measured_s += seconds(row, "t_ms");
  }
  Errors errors;
  for (const auto& [layer, sums] : layers) errors.add(sums.first, sums.second);
  return errors;
}

// aiconfigurator measured shapes, not layers: QKV, O, up and down of a plain layer with D = 4096 and an FFN
// of 16384 and 12288, the nearest it has to four GEMMs of one layer.
Errors plain_layer_errors(const std::string& gpu_name, const Efficiency& efficiency) {
  const std::vector<std::pair<int64_t, int64_t>> shapes = {
      {12288, 4096}, {4096, 4096}, {16384, 4096}, {4096, 12288}};
  const Gpu gpu = device(gpu_name);
  std::map<int64_t, std::pair<double, double>> layers;
  for (const Row& row : read_csv("gemm_aic_bf16.csv")) {
    const std::pair shape{whole(row, "n"), whole(row, "k")};
    const bool wanted = std::find(shapes.begin(), shapes.end(), shape) != shapes.end();
    if (row.at("device") != gpu_name || whole(row, "tokens") < kLeastTokens || !wanted) continue;
    auto& [modelled_s, measured_s] = layers[whole(row, "tokens")];
    modelled_s += row_s(efficiency, gpu, row);
    measured_s += seconds(row, "t_ms");
  }
  Errors errors;
  for (const auto& [tokens, sums] : layers) errors.add(sums.first, sums.second);
  return errors;
}

TEST_F(MeasuredGemm, IsWithinSevenPercentInTheMedianPerLayer) {
  for (const GemmSet& set : kGemmSets) {
    if (set.file == "gemm_aic_bf16.csv") {
      expect_within(set.name + ", layer", plain_layer_errors(set.device, fitted_gemm(set.fit)), 0.07, 0.19);
    } else {
      expect_within(set.name + ", layer", layer_errors(set, fitted_gemm(set.fit)), 0.07, 0.19);
    }
  }
  expect_within("A100 SXM (aiconfigurator), layer", plain_layer_errors("a100", kA100Sxm), 0.07, 0.19);
}

struct Operator {
  std::string column;
  int64_t n, k;
};

std::vector<Operator> staircase_operators(const std::string& model) {
  if (model == "llama2-7b") {
    return {{"qkv_ms", 12288, 4096},
            {"oproj_ms", 4096, 4096},
            {"mlp_up_ms", 22016, 4096},
            {"mlp_down_ms", 4096, 11008}};
  }
  return {{"qkv_ms", 10240, 8192},
          {"oproj_ms", 8192, 8192},
          {"mlp_up_ms", 57344, 8192},
          {"mlp_down_ms", 8192, 28672}};
}

TEST_F(MeasuredTable, IsWithinThreePercentInTheMedianAtPointsItDoesNotHold) {
  for (const std::string gpu_name : {"a100", "a40", "h100"}) {
    Efficiency table{.model = EfficiencyModel::table};
    std::vector<GemmPoint> held_out;
    std::map<std::string, int64_t> seen;  // per model, rows in order of tokens
    for (const Row& row : read_csv("gemm_vidur_staircase.csv")) {
      if (row.at("device") != gpu_name) continue;
      const bool in_table = seen[row.at("model")]++ % 2 == 0;
      for (const Operator& op : staircase_operators(row.at("model"))) {
        const GemmPoint point{whole(row, "tokens"), op.n, op.k, seconds(row, op.column)};
        (in_table ? table.points : held_out).push_back(point);
      }
    }
    Errors errors;
    bool extrapolated = false;
    for (const GemmPoint& point : held_out) {
      errors.add(gemm_s(table, device(gpu_name), point.m, point.n, point.k, 2, 2, &extrapolated),
                 point.time_s);
    }
    EXPECT_FALSE(extrapolated);
    expect_within(gpu_name + " (vidur), table", errors, 0.03, 0.10);
  }
}

struct WaveSet {
  std::string device, q_heads;
};

Row chunked_fit(const WaveSet& set) {
  for (const Row& row : read_csv("fit_chunked_attention.csv")) {
    if (row.at("device") == set.device && row.at("q_heads") == set.q_heads) return row;
  }
  ADD_FAILURE() << "no fit for " << set.device;
  return {};
}

Errors chunked_errors(const WaveSet& set, const Efficiency& efficiency) {
  const Gpu gpu = device(set.device);
  Errors errors;
  for (const Row& row : read_csv("attn_chunked_prefill.csv")) {
    const bool wanted = row.at("device") == set.device && row.at("q_heads") == set.q_heads;
    if (!wanted || whole(row, "cached_kv") == 0) continue;
    const PrefillChunk chunk{whole(row, "chunk"), whole(row, "cached_kv")};
    const double modelled_s =
        attention_s(efficiency, gpu, chunk, whole(row, "q_heads"), whole(row, "kv_heads"), 128, 2);
    errors.add(modelled_s, seconds(row, "t_ms"));
  }
  return errors;
}

Efficiency fitted_wave(const WaveSet& set) {
  const Row fit = chunked_fit(set);
  return {.model = EfficiencyModel::wave,
          .efficiency = number(fit, "tile_eff"),
          .constant_s = number(fit, "tile_c_us") * 1e-6,
          .block_m = whole(fit, "tile_m")};
}

Efficiency fitted_roofline(const WaveSet& set) {
  const Row fit = chunked_fit(set);
  return {.model = EfficiencyModel::smooth_max,
          .efficiency = number(fit, "roof_eff"),
          .constant_s = number(fit, "roof_c_us") * 1e-6};
}

TEST_F(MeasuredAttention, IsWithinSixPercentInTheMedianOverACachedPrefix) {
  for (const WaveSet& set : std::vector<WaveSet>{
           {"rtx4090", "32"}, {"rtxpro6000", "32"}, {"rtxpro6000", "64"}, {"h100", "16"}, {"a6000", "32"}}) {
    const Errors wave = chunked_errors(set, fitted_wave(set));
    expect_within(set.device + " " + set.q_heads + " heads, wave", wave, 0.06, 0.25);
    const Errors roofline = chunked_errors(set, fitted_roofline(set));
    report(set.device + " " + set.q_heads + " heads, roofline", roofline);
    EXPECT_GT(roofline.quantile(0.5), 2.5 * wave.quantile(0.5));
  }
}

TEST_F(MeasuredAttention, DoesNotDescribeTheOldPagedKernelOfTheA100Rows) {
  // An old paged kernel, two to three times slower than today's: neither model fits it, so no tolerance.
  const WaveSet set{"a100", "32"};
  report("a100 32 heads (vidur), wave", chunked_errors(set, fitted_wave(set)));
  report("a100 32 heads (vidur), roofline", chunked_errors(set, fitted_roofline(set)));
  EXPECT_GT(chunked_errors(set, fitted_wave(set)).quantile(0.5), 0.06);
}

TEST_F(MeasuredAttention, DecodesAtTheBandwidthOfReadingTheKvCache) {
  // Coefficients from section 4 of the data's notes. On the A100 the tail is batches of up to four
  // sequences (p90 45 to 69 %; from eight on at most 22 %).
  struct Decode {
    std::string device;
    double bandwidth_efficiency, constant_s, median, p90;
  };
  for (const Decode& set : std::vector<Decode>{{"h100", 0.84, 12e-6, 0.09, 0.26},
                                               {"h200", 0.80, 12e-6, 0.09, 0.26},
                                               {"a100", 0.71, 18.5e-6, 0.09, 0.42}}) {
    ModelSpec model;
    model.num_hidden_layers = 1;
    model.head_dim = 128;
    model.hidden_size = 1024;
    model.intermediate_size = 1024;
    HardwareProfile hardware;
    hardware.gpu = device(set.device);
    hardware.gpu.attention = {.model = EfficiencyModel::wave,
                              .bandwidth_efficiency = set.bandwidth_efficiency,
                              .constant_s = set.constant_s};
    Errors errors;
    for (const Row& row : read_csv("attn_decode_aic.csv")) {
      if (row.at("device") != set.device || row.at("stack").find("vllm") == std::string::npos) continue;
      model.num_attention_heads = whole(row, "q_heads");
      model.num_key_value_heads = whole(row, "kv_heads");
      const DecodeAttention time =
          CostModel(model, hardware, 1).decode_attention_layer_s(whole(row, "batch"));
      errors.add(time.fixed_s + time.per_context_token_s * number(row, "batch") * number(row, "ctx"),
                 seconds(row, "t_ms"));
    }
    expect_within(set.device + " (vLLM), decode", errors, set.median, set.p90);
  }
}

ModelSpec vidur_model(const std::string& name) {
  ModelSpec model;
  const bool small = name == "llama2-7b";
  model.num_hidden_layers = 1;
  model.head_dim = 128;
  model.hidden_size = small ? 4096 : 8192;
  model.num_attention_heads = model.hidden_size / 128;
  model.num_key_value_heads = small ? 32 : 8;
  model.intermediate_size = small ? 11008 : name == "llama2-70b" ? 28672 : 22016;
  return model;
}

TEST_F(MeasuredLayer, IsWithinTenPercentInTheMedianWithElementwiseWork) {
  // One GPU, everything of a layer but attention; two residual adds, of which the data times one. Wider than
  // for GEMMs alone: one share of the bandwidth stands for all kernels, while on the A100 and the H100 these
  // norms reach a third of it and residual adds nine tenths.
  const std::map<std::string, Elementwise> elementwise = {
      {"a100", {0.52, 4.2e-6}}, {"a40", {0.77, 3.1e-6}}, {"h100", {0.70, 3.3e-6}}};
  for (const GemmSet& set : kGemmSets) {
    if (set.file != "gemm_vidur.csv") continue;
    std::map<std::pair<std::string, int64_t>, double> gemms_s;
    for (const Row& row : read_csv(set.file)) {
      if (row.at("device") != set.device || row.at("tp") != "1") continue;
      gemms_s[{row.at("model"), whole(row, "tokens")}] += seconds(row, "t_ms");
    }
    HardwareProfile hardware;
    hardware.gpu = device(set.device);
    hardware.gpu.gemm = fitted_gemm(set.fit);
    hardware.gpu.elementwise = elementwise.at(set.device);
    Errors errors;
    for (const Row& row : read_csv("nongemm_vidur.csv")) {
      const int64_t tokens = whole(row, "tokens");
      const auto gemms = gemms_s.find({row.at("model"), tokens});
      if (row.at("device") != set.device || tokens < kLeastTokens || gemms == gemms_s.end()) continue;
      const double measured_s = gemms->second + seconds(row, "input_layernorm_ms") +
                                seconds(row, "attn_rope_ms") + seconds(row, "post_attention_layernorm_ms") +
                                seconds(row, "mlp_act_ms") + 2 * seconds(row, "add_ms");
      errors.add(CostModel(vidur_model(row.at("model")), hardware, 1).linear_layer_s(tokens), measured_s);
    }
    expect_within(set.name + ", layer with element-wise", errors, 0.10, 0.25);
  }
}

}  // namespace
}  // namespace kvcap::cost_measured_test
