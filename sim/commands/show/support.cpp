#include "commands/show/support.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "base/text/format.h"
#include "base/text/joined.h"
#include "base/text/print.h"
#include "base/text/width.h"
#include "cost/gemm.h"
#include "cost/peer_collectives.h"
#include "engine/versions/engines.h"
#include "engine/versions/host_times.h"
#include "scenario/load.h"
#include "text/setting_grid.h"

namespace kvcap {
namespace {

using Json = nlohmann::ordered_json;

// What a predicted time is based on, from best to worst. fitted: measured kernels, with host times fitted to
// measured steps of this engine. interpolated: measured kernels of another class, or host times of another
// engine.
enum class Evidence : uint8_t { measured, fitted, interpolated, data_sheet, refused };
constexpr std::string_view kEvidenceNames[] = {"measured", "fitted", "interpolated", "data sheet", "refused"};
std::string_view name(Evidence evidence) { return kEvidenceNames[static_cast<std::size_t>(evidence)]; }

// A class of kernels for which a hardware profile may have measured efficiencies.
struct KernelClass {
  std::string_view name;
  bool (*is_in)(const Gpu& gpu);
};

template <auto kField>
bool has(const Gpu& gpu) {
  return (gpu.*kField).has_value();
}

constexpr KernelClass kGemm = {"16-bit GEMM", [](const Gpu&) { return true; }};
constexpr KernelClass kGemmFp8 = {"FP8 GEMM", has<&Gpu::gemm_fp8>};
constexpr KernelClass kGemmFp4 = {"FP4 GEMM", has<&Gpu::gemm_fp4>};
constexpr KernelClass kGrouped = {"16-bit experts", has<&Gpu::grouped_gemm>};
constexpr KernelClass kGroupedFp8 = {"FP8 experts", has<&Gpu::grouped_gemm_fp8>};
constexpr KernelClass kGroupedFp4 = {"FP4 experts", has<&Gpu::grouped_gemm_fp4>};
constexpr KernelClass kGroupedW4 = {"4-bit experts, 16-bit inputs", has<&Gpu::grouped_gemm_w4a16>};
constexpr KernelClass kAttention = {"attention", has<&Gpu::decode_attention>};
// No profile has measured kernels of these classes; their times are derived from the bytes that they move and
// from the times of ordinary attention.
constexpr KernelClass kLatent = {"latent attention", [](const Gpu&) { return false; }};
constexpr KernelClass kRecurrent = {"recurrent layers", [](const Gpu&) { return false; }};
constexpr KernelClass kAllClasses[] = {kGemm,       kGemmFp8,    kGemmFp4,   kGrouped,
                                       kGroupedFp8, kGroupedFp4, kGroupedW4, kAttention};

const KernelClass& gemm_class(const ElementBytes& bytes) {
  switch (precision_of(bytes)) {
    case Precision::fp8:
      return kGemmFp8;
    case Precision::fp4:
      return kGemmFp4;
    default:
      return kGemm;
  }
}

const KernelClass& expert_class(const ElementBytes& bytes) {
  const Precision precision = precision_of(bytes);
  if (precision == Precision::half) return bytes.weight <= kMostFourBitBytes ? kGroupedW4 : kGrouped;
  return precision == Precision::fp8 ? kGroupedFp8 : kGroupedFp4;
}

std::vector<KernelClass> classes_of(const ModelSpec& model) {
  const double inputs = model.gemm_input_bytes_per_element();
  std::vector<KernelClass> classes = {
      gemm_class({.activation = inputs, .weight = model.weight_bytes_per_element})};
  if (const std::optional<Experts>& experts = model.experts) {
    classes.push_back(
        expert_class({.activation = experts->activation_bytes_per_element.value_or(inputs),
                      .weight = experts->weight_bytes_per_element.value_or(model.weight_bytes_per_element)}));
  }
  bool has_latent = false, has_plain = false;
  for (const LayerGroup& group : model.groups()) {
    has_latent |= group.attention == AttentionKind::latent;
    has_plain |= group.keeps_window() || group.attention == AttentionKind::full;
  }
  if (has_plain) classes.push_back(kAttention);
  if (has_latent) classes.push_back(kLatent);
  if (model.is_recurrent()) classes.push_back(kRecurrent);
  return classes;
}

Evidence evidence_of(const KernelClass& kernels, const HardwareProfile& hardware) {
  if (hardware.provenance_kind != "measured") return Evidence::data_sheet;
  return kernels.is_in(hardware.gpu) ? Evidence::measured : Evidence::interpolated;
}

Evidence engine_evidence(EngineKind engine, const std::string& engine_version) {
  const std::optional<EngineVersion> version = parse_engine_version(engine_version);
  return version && host_times_of(engine, *version).is_measured ? Evidence::fitted : Evidence::interpolated;
}

// Returns the weakest evidence of the kernels and, with several GPUs, of the collectives. Adds the names of
// those that are only interpolated to `weak`.
Evidence kernel_evidence(const std::vector<KernelClass>& classes, const HardwareProfile& hardware,
                         int64_t gpus, std::vector<std::string>& weak) {
  Evidence kernels = Evidence::measured;
  for (const KernelClass& one : classes) {
    const Evidence found = evidence_of(one, hardware);
    if (found == Evidence::interpolated) weak.emplace_back(one.name);
    kernels = std::max(kernels, found);
  }
  if (gpus > 1 && !has_own_collectives(hardware)) {
    weak.emplace_back("collectives");
    kernels = std::max(kernels, Evidence::interpolated);
  }
  return kernels;
}

// Counts of the runs in the suites "measured" and "stacks". The ShowSupport tests compare these counts with
// the studies.
constexpr ValidatedRuns kValidatedRuns[] = {
    {"RTX 4090", EngineKind::vllm, false, 1},       {"H100 80GB SXM5", EngineKind::vllm, false, 54},
    {"H100 80GB SXM5", EngineKind::vllm, true, 30}, {"H200 SXM", EngineKind::vllm, true, 64},
    {"B200 SXM", EngineKind::vllm, false, 20},      {"B200 SXM", EngineKind::vllm, true, 72},
};

int64_t validated_runs_of(std::string_view gpu, EngineKind engine, bool experts) {
  for (const ValidatedRuns& one : kValidatedRuns) {
    if (one.gpu == gpu && one.engine == engine && one.experts == experts) return one.count;
  }
  return 0;
}

// Returns the servers that can be rented; the profiles of papers describe single machines.
std::vector<HardwareProfile> servers() {
  std::vector<HardwareProfile> all;
  for (const CatalogueEntry& entry : catalogue(Catalogue::hardware)) {
    HardwareProfile hardware = load_hardware(std::string(entry.name));
    const bool is_rented = hardware.gpu.price_usd_per_hour > 0 && hardware.provenance_kind != "paper";
    if (is_rented) all.push_back(std::move(hardware));
  }
  return all;
}

// Returns the smallest power of two of GPUs whose memory holds the weights with a tenth to spare; nullopt if
// the server has too few GPUs.
std::optional<int64_t> gpus_for(const ModelSpec& model, const HardwareProfile& hardware) {
  constexpr double kUsable = 0.9;
  for (int64_t gpus = 1; gpus <= hardware.gpu.count; gpus *= 2) {
    if (model.weight_bytes() <= kUsable * hardware.gpu.memory_bytes * static_cast<double>(gpus)) return gpus;
  }
  return std::nullopt;
}

// The evidence for a model on one server with each engine, and the kernels and collectives without
// measurements.
struct Support {
  std::string hardware;
  std::optional<int64_t> gpus;
  std::array<Evidence, std::size(kEngineNames)> engines{};
  // Number of validated runs per engine: runs of models with experts if this model has experts, otherwise of
  // models without.
  std::array<int64_t, std::size(kEngineNames)> runs{};
  std::vector<std::string> weak;
};

Support support_of(const ModelSpec& model, const std::vector<KernelClass>& classes,
                   const HardwareProfile& hardware) {
  Support support{.hardware = hardware.name, .gpus = gpus_for(model, hardware)};
  if (!support.gpus) {
    support.engines.fill(Evidence::refused);
    return support;
  }
  const Evidence kernels = kernel_evidence(classes, hardware, *support.gpus, support.weak);
  for (std::size_t i = 0; i < support.engines.size(); ++i) {
    const auto engine = static_cast<EngineKind>(i);
    support.engines[i] = std::max(kernels, engine_evidence(engine, options_of(engine).engine_version));
    support.runs[i] = validated_runs_of(hardware.gpu.name, engine, model.experts.has_value());
  }
  return support;
}

Json json_of(const Support& one) {
  Json engines = Json::object(), runs = Json::object();
  for (std::size_t i = 0; i < one.engines.size(); ++i) {
    engines[std::string(kEngineNames[i])] = name(one.engines[i]);
    runs[std::string(kEngineNames[i])] = one.runs[i];
  }
  return {{"hardware", one.hardware},
          {"gpus", one.gpus ? Json(*one.gpus) : Json()},
          {"engines", engines},
          {"validated_runs", runs},
          {"interpolated", one.weak}};
}

constexpr const char* kMeaning =
    "measured: kernels timed on this GPU. fitted: the same, with host times fitted to measured steps of this "
    "engine. interpolated: from another class of kernels of this GPU, or with vLLM's host times. data sheet: "
    "the vendor's peaks with another GPU's efficiencies. refused: the weights do not fit the server. "
    "(N runs): kvcap validate compares N measured runs on this GPU with this engine; they are of any models "
    "with experts if this model has experts, otherwise of any models without.";

std::string engine_cell(const Support& one, std::size_t engine) {
  const std::string evidence(name(one.engines[engine]));
  return one.runs[engine] == 0 ? evidence : evidence + " (" + format_count(one.runs[engine], "run") + ")";
}

void show_model_support(const std::string& model_name, bool json) {
  const ModelSpec model = load_model(model_name);
  const std::vector<KernelClass> classes = classes_of(model);
  std::vector<Support> all;
  for (const HardwareProfile& hardware : servers()) all.push_back(support_of(model, classes, hardware));
  if (json) {
    Json rows = Json::array();
    for (const Support& one : all) rows.push_back(json_of(one));
    print(rows.dump(2) + "\n");
    return;
  }
  SettingGrid grid;
  grid.rows.push_back({"GPUs", "GPUs", "", {}});
  for (std::string_view engine : kEngineNames) grid.rows.push_back({std::string(engine), "", "", {}});
  grid.rows.push_back({"interpolated", "", "", {}});
  for (const Support& one : all) {
    grid.settings.push_back(one.hardware);
    grid.rows.front().cells.push_back(one.gpus ? std::to_string(*one.gpus) : "-");
    for (std::size_t i = 0; i < one.engines.size(); ++i)
      grid.rows[i + 1].cells.push_back(engine_cell(one, i));
    grid.rows.back().cells.push_back(one.weak.empty() ? "-" : joined(one.weak));
  }
  const std::string needs = joined(classes, ", ", [](const KernelClass& one) { return one.name; });
  print(wrapped({model.name + " needs " + needs + "."}) + "\n");
  for (const std::string& line : setting_rows(grid, table_columns())) print(line + "\n");
  print("\n" + wrapped({kMeaning}));
}

void show_classes(bool json) {
  const std::vector<HardwareProfile> all = servers();
  SettingGrid grid;
  Json rows = Json::array();
  for (const KernelClass& one : kAllClasses) grid.rows.push_back({std::string(one.name), "", "", {}});
  grid.rows.push_back({"collectives", "", "", {}});
  for (const HardwareProfile& hardware : all) {
    grid.settings.push_back(hardware.name);
    Json kernels = Json::object();
    for (std::size_t i = 0; i < std::size(kAllClasses); ++i) {
      const std::string_view found = name(evidence_of(kAllClasses[i], hardware));
      grid.rows[i].cells.emplace_back(found);
      kernels[std::string(kAllClasses[i].name)] = found;
    }
    const Evidence links = has_own_collectives(hardware) ? Evidence::measured : Evidence::interpolated;
    grid.rows.back().cells.emplace_back(hardware.gpu.count > 1 ? name(links) : "-");
    rows.push_back({{"hardware", hardware.name}, {"kernels", kernels}});
  }
  if (json) {
    print(rows.dump(2) + "\n");
    return;
  }
  for (const std::string& line : setting_rows(grid, table_columns())) print(line + "\n");
  print("\nHost times:\n");
  for (const HostTimeRow& row : host_time_table()) {
    const std::string_view engine = kEngineNames[static_cast<std::size_t>(row.engine)];
    print(wrapped({fmt::format("  {} from {}.{}: {}", engine, row.from.major, row.from.minor, row.source)},
                  "    "));
  }
  print("\n" + wrapped({"kvcap show support MODEL shows the GPUs and engines for one model."}));
}

}  // namespace

std::span<const ValidatedRuns> validated_runs() { return kValidatedRuns; }

std::string evidence_word(const Scenario& scenario) {
  if (scenario.hardware.provenance_kind == "paper") return scenario.hardware.provenance_kind;
  std::vector<std::string> weak;
  const Evidence kernels = kernel_evidence(classes_of(scenario.model), scenario.hardware,
                                           scenario.serving.tensor_parallel_size, weak);
  return std::string(
      name(std::max(kernels, engine_evidence(scenario.serving.engine, scenario.serving.engine_version))));
}

void show_support(const std::string& model, bool json) {
  if (model.empty()) {
    show_classes(json);
  } else {
    show_model_support(model, json);
  }
}

}  // namespace kvcap
