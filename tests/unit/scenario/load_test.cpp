#include "scenario/load.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "base/input_error.h"
#include "base/text/joined.h"
#include "policy/table.h"
#include "scenario/fields.h"
#include "unit/malformed_scenarios.h"
#include "unit/scenario_samples.h"
#include "workload/sources_table.h"

namespace kvcap::load_test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

std::string names_of(Catalogue which) {
  std::string names;
  for (const CatalogueEntry& entry : catalogue(which)) {
    names.append(names.empty() ? "" : ", ").append(entry.name);
  }
  return names;
}

// "{models}" and "{hardware}" in an expected message stand for the catalogue's names, "{policies}" for the
// table's.
std::string with_names(std::string message) {
  const std::pair<std::string_view, std::string> marks[] = {
      {"{models}",
       "a name of kvcap show models, a Hugging Face name that is in the catalogue or in the cache of this "
       "machine, or a path to a file or a downloaded folder"},
      {"{hardware}", names_of(Catalogue::hardware)},
      {"{policies}", joined(policy_names())},
      {"{sources}", joined(source_names())},
      {"{evictions}", joined(kEvictionNames)},
      {"{tiers}", joined(kTierNames)},
      {"{tier_kinds}", joined(kTierKindNames)}};
  for (const auto& [mark, names] : marks) {
    const std::size_t at = message.find(mark);
    if (at != std::string::npos) message.replace(at, mark.size(), names);
  }
  constexpr std::string_view kPolicies = "{policies}";
  if (const std::size_t at = message.find(kPolicies); at != std::string::npos) {
    message.replace(at, kPolicies.size(), joined(policy_names()));
  }
  return message;
}

template <class Load>
std::string error_of(Load load) {
  try {
    load();
    return "accepted";
  } catch (const InputError& error) {
    return error.what();
  }
}

std::string scenario_error(std::string_view text, const std::vector<std::string>& overrides = {}) {
  return error_of([&] { parse_scenario(text, "chat.json", overrides); });
}

Scenario parse(const std::string& more = "", const std::vector<std::string>& overrides = {}) {
  return parse_scenario(sample_scenario(more), "chat.json", overrides);
}

TEST(Scenario, NotesOfObjectsInWhichFieldsChangedAreOutdated) {
  const std::string notes =
      R"("notes": ["of all"], "seed": 7, "serving": {"max_num_seqs": 8, "notes": "of serving"})";
  const auto notes_with = [&](const std::vector<std::string>& overrides) {
    return parse(notes, overrides).notes;
  };
  using Texts = std::vector<std::string>;
  const std::string old = "written before fields were changed: ";
  EXPECT_EQ(notes_with({}), (Texts{"of all", "of serving"}));
  EXPECT_EQ(notes_with({"seed=7"}), (Texts{"of all", "of serving"})) << "the same value";
  EXPECT_EQ(notes_with({"seed=8"}), (Texts{"of all", "of serving"})) << "no note speaks of seeds";
  EXPECT_EQ(notes_with({"workload.sessions=3"}), (Texts{old + "of all", "of serving"}));
  EXPECT_EQ(notes_with({"serving.max_num_seqs=9"}), (Texts{old + "of all", old + "of serving"}));
  EXPECT_EQ(notes_with({"notes=[\"mine\"]"}), (Texts{"mine", "of serving"})) << "the user's own";
}

TEST(Scenario, WithOneThingWrongIsRefusedWithPlaceFoundAndAllowed) {
  for (const MalformedScenario& one : kMalformedScenarios) {
    Json scenario = Json::parse(sample_scenario());
    scenario.merge_patch(Json::parse(one.patch));
    EXPECT_EQ(scenario_error(scenario.dump()), with_names(std::string(one.message))) << one.patch;
  }
}

TEST(Scenario, ThatIsNotJsonIsRefusedWithLineAndColumn) {
  const std::pair<std::string, std::string> cases[] = {
      {"",
       "chat.json:1:1: syntax error while parsing value - unexpected end of input; expected '[', '{', or a "
       "literal"},
      {"{",
       "chat.json:1:2: syntax error while parsing object key - unexpected end of input; expected string "
       "literal"},
      {R"({"schema": "kvcap.scenario/1",
  "seed": 1,
})",
       "chat.json:3:1: syntax error while parsing object key - unexpected '}'; expected string literal"},
      {"[]", "chat.json: found an array, allowed: an object"},
      {R"({"seed":1,"seed":2})", R"(chat.json:1:16: key "seed" is given twice in one object)"},
      {R"({"seed":1e999})", "chat.json: number overflow parsing '1e999'"},
      {R"({"name":"\q"})",
       R"(chat.json:1:11: syntax error while parsing value - invalid string: forbidden character after backslash; last read: '"\q')"},
      {"nope", "chat.json:1:2: syntax error while parsing value - invalid literal; last read: 'no'"},
      {R"({"schema":"kvcap.scenario/1"} x)",
       R"(chat.json:1:31: syntax error while parsing value - invalid literal; last read: '"kvcap.scenario/1"} x'; expected end of input)"},
  };
  for (const auto& [text, message] : cases) EXPECT_EQ(scenario_error(text), message) << text;
}

TEST(Override, ThatIsWrongIsNamedAsThePlace) {
  const std::pair<std::string, std::string> cases[] = {
      {"serving.max_num_seqs=-3",
       "--set serving.max_num_seqs=-3: found -3, allowed: an integer from 1 to 1000000"},
      {"serving.max_num_seq=3", R"(--set serving.max_num_seq=3: unknown key; did you mean "max_num_seqs"?)"},
      {"policy=hcahce",
       R"(--set policy=hcahce: found "hcahce", allowed: {policies}, or a path; did you mean "hcache"?)"},
      {"policy=HCACHE",
       R"(--set policy=HCACHE: found "HCACHE", allowed: {policies}, or a path; did you mean "hcache"?)"},
      {"policy.nam=hcache", R"(--set policy.nam=hcache: unknown key; did you mean "name"?)"},
      {R"(policy={"name":"x"})", R"(--set policy={"name":"x"}: policy.name: found "x", allowed: {policies})"},
      {"seed", "--set seed: allowed: path=value, for example --set serving.max_num_seqs=64"},
      {"=3", "--set =3: allowed: path=value, for example --set serving.max_num_seqs=64"},
      {"policy.tiers.1.kind=ssd",
       R"(--set policy.tiers.1.kind=ssd: found index "1", allowed: an integer from 0 to 0 (entries of policy.tiers))"},
      {"policy.tiers.x.kind=ssd",
       "--set policy.tiers.x.kind=ssd: policy.tiers: found an object, allowed: an array"},
      {"policy.tiers.0.kind=tape",
       "--set policy.tiers.0.kind=tape: found \"tape\", allowed: " + joined(kTierKindNames)},
      {"seed.x=3", "--set seed.x=3: seed: found an object, allowed: an integer from 0 to 9007199254740991"},
      {"hardware.ssd.count=0", "--set hardware.ssd.count=0: found 0, allowed: an integer from 1 to 1000000"},
      {"hardware.sdd.count=4",
       R"(--set hardware.sdd.count=4: hardware.sdd: unknown key; did you mean "ssd"?)"},
      {"model=llama-2-7",
       R"(--set model=llama-2-7: found "llama-2-7", allowed: {models}; did you mean "llama-2-7b"?)"},
      {"model.num_hidden_layers=many",
       R"(--set model.num_hidden_layers=many: found "many", allowed: an integer from 1 to 1000000)"},
      {"workload.source.kind=sessions",
       R"(chat.json: workload.source.path: missing, required where kind is "sessions")"},
      {R"(serving={"max_num_seqs":0})",
       R"(--set serving={"max_num_seqs":0}: serving.max_num_seqs: found 0, allowed: an integer from 1 to 1000000)"},
      {"name=[42]", "--set name=[42]: found an array, allowed: a string"},
  };
  for (const auto& [argument, message] : cases) {
    EXPECT_EQ(scenario_error(sample_scenario(), {argument}), with_names(message)) << argument;
  }
}

// 8,192 tokens a step on a GPU of 80 GiB that is no A100; 0.92 of the memory from 0.16 on, asynchronous
// scheduling from 0.14 on. What is said stays.
TEST(Scenario, TakesTheDefaultsOfVllmsVersionAndOfTheGpu) {
  const auto serving = [](std::vector<std::string> overrides) {
    return parse_scenario(sample_scenario(), "chat.json", overrides).serving;
  };
  EXPECT_EQ(serving({"hardware=h100-sxm"}).max_num_batched_tokens, 8192);
  EXPECT_EQ(serving({"hardware=a100-80g-sxm"}).max_num_batched_tokens, 2048);
  EXPECT_EQ(serving({"hardware=l40s"}).max_num_batched_tokens, 2048);
  EXPECT_EQ(serving({"hardware=h100-sxm", "serving.max_num_batched_tokens=512"}).max_num_batched_tokens, 512);
  EXPECT_EQ(serving({"serving.engine_version=\"0.15.1\""}).gpu_memory_utilization, 0.9);
  EXPECT_EQ(serving({"serving.engine_version=\"0.16\""}).gpu_memory_utilization, 0.92);
  EXPECT_TRUE(serving({"serving.engine_version=\"0.14\""}).async_scheduling);
  EXPECT_FALSE(serving({"serving.engine_version=\"0.13.2\""}).async_scheduling);
  EXPECT_TRUE(serving({"serving.engine_version=\"0.13\"", "serving.async_scheduling=true"}).async_scheduling);
  EXPECT_EQ(serving({"serving.engine=trtllm"}).gpu_memory_utilization, 0.9);
}

TEST(Scenario, StatesTheVersionThatItTakesForOneThatWasNotExamined) {
  const auto notes = [](const std::string& serving) {
    return parse_scenario(sample_scenario(), "chat.json", {"serving=" + serving}).notes;
  };
  using Notes = std::vector<std::string>;
  const Notes plain = notes(R"({"engine_version": "0.30.1"})");
  const auto added = [&](const std::string& serving) {
    Notes all = notes(serving);
    std::erase_if(all, [&](const std::string& one) { return std::ranges::count(plain, one) > 0; });
    return all;
  };
  EXPECT_EQ(added(R"({"engine_version": "0.9"})"), Notes());
  EXPECT_EQ(added(R"({"engine_version": "0.31.2"})"),
            Notes{"simulated as another version: vLLM 0.31.2 as 0.30, the newest that was examined"});
  EXPECT_EQ(
      added(R"({"engine_version": "0.8.5"})"),
      Notes{"simulated as another version: vLLM 0.8.5 as 0.9, since its V0 engine, which plans KV capacity "
            "differently, is not simulated"});
  EXPECT_EQ(added(R"({"engine": "sglang", "engine_version": "0.31"})"), Notes());
}

TEST(Scenario, TakesTheDocumentedDefaults) {
  const Scenario scenario = parse();
  EXPECT_EQ(scenario.serving.tensor_parallel_size, 1);
  EXPECT_EQ(scenario.serving.max_num_seqs, 256);
  EXPECT_EQ(scenario.serving.max_num_batched_tokens, 2048);
  EXPECT_EQ(scenario.serving.block_size, 16);
  EXPECT_EQ(scenario.serving.gpu_memory_utilization, 0.92);
  EXPECT_FALSE(scenario.serving.max_model_len);  // the model's window, and no more than fits
  EXPECT_FALSE(scenario.serving.kv_capacity_tokens);
  EXPECT_EQ(scenario.policy.name, "recompute");
  EXPECT_FALSE(scenario.policy.tiers);
  EXPECT_EQ(scenario.workload.think_time.mean_s, 30);
  EXPECT_FALSE(scenario.workload.sessions);
  EXPECT_EQ(scenario.seed, 1u);
  EXPECT_EQ(scenario.model.num_key_value_heads, 8);
  EXPECT_EQ(scenario.model.head_dim, 32);  // 256 / 8
  EXPECT_FALSE(scenario.model.latent);
  EXPECT_FALSE(scenario.hardware.remote);
  EXPECT_TRUE(scenario.notes.empty());
}

TEST(Scenario, TakesTheThinkTimesThatItsSourceHas) {
  const auto resolved = [](const std::string& kind) {
    const std::string text = sample_scenario();
    const bool is_file = kind == "weka" || kind == "sessions";
    const Scenario scenario = parse_scenario(
        text, "s.json", {"workload.source=" + Json({{"kind", kind}, {"path", is_file ? "t" : ""}}).dump()});
    return scenario.workload.think_time.distribution;
  };
  EXPECT_EQ(resolved("agents"), ThinkDistribution::recorded);
  EXPECT_EQ(resolved("weka"), ThinkDistribution::recorded);
  EXPECT_EQ(resolved("chat"), ThinkDistribution::constant);
  EXPECT_EQ(resolved("sessions"), ThinkDistribution::automatic);  // each file for itself
}

TEST(Scenario, ResolvesToOneThatResolvesToItself) {
  const std::string written = parse(R"("policy": {"tiers": [{"kind": "ssd", "capacity_bytes": 4e9}]},
                                       "notes": ["a"], "slo": {"ttft_ms": 0.5, "notes": "b"})")
                                  .resolved_json;
  const Scenario again = parse_scenario(written, "again.json", {});
  EXPECT_EQ(again.resolved_json, written);
  EXPECT_EQ(again.policy.tiers->at(0).capacity_bytes, 4e9);
  EXPECT_EQ(again.notes, (std::vector<std::string>{"a", "b"}));
  const Json json = Json::parse(written);
  EXPECT_EQ(json.begin().key(), "schema");
  EXPECT_EQ(json["serving"]["max_num_batched_tokens"], 2048);
  EXPECT_TRUE(json["hardware"]["remote"].is_null());
}

TEST(Scenario, TakesWholeNumbersInAnyNotationAndNullForAbsent) {
  const Scenario scenario = parse(R"("serving": {"kv_capacity_tokens": 4e12, "max_num_seqs": 64.0,
                                     "max_model_len": null}, "slo": {"ttft_ms": null})",
                                  {"workload.sessions=null"});
  EXPECT_EQ(scenario.serving.kv_capacity_tokens, 4000000000000);
  EXPECT_EQ(scenario.serving.max_num_seqs, 64);
  EXPECT_FALSE(scenario.serving.max_model_len);
  EXPECT_FALSE(scenario.workload.sessions);
  EXPECT_FALSE(scenario.slo.ttft_ms);
}

TEST(Scenario, ThatIsNestedWithoutEndIsRefused) {
  const std::string deep = std::string(200000, '[') + std::string(200000, ']');
  EXPECT_EQ(scenario_error(sample_scenario("\"name\": " + deep)),
            "chat.json: is nested deeper than 100 levels");
}

TEST(Scenario, MayGoBeyondTheModelsPositionsWithANote) {
  const Scenario scenario = parse(R"("serving": {"max_model_len": 4096})");
  ASSERT_EQ(scenario.notes.size(), 1u);
  EXPECT_EQ(scenario.notes[0], "serving.max_model_len is 4096, the model was trained for 2048 positions");
}

TEST(Scenario, KeepsItsPathsAsWrittenAndOpensThemBesideItself) {
  const std::string text =
      sample_scenario().replace(sample_scenario().find(R"("kind": "chat")"), 14,
                                R"("kind": "vllm", "path": "../traces/t.jsonl", "hash_ids": "u.jsonl")");
  const Scenario scenario = parse_scenario(text, "a/b/chat.json", {});
  EXPECT_EQ(scenario.workload.source.path, "a/traces/t.jsonl");
  EXPECT_EQ(scenario.workload.source.hash_ids, "a/b/u.jsonl");
  EXPECT_EQ(Json::parse(scenario.resolved_json)["workload"]["source"]["path"], "../traces/t.jsonl");
  // On the command line a path starts from the current folder.
  const std::vector<std::string> overrides = {"workload.source.path=mine/t.jsonl"};
  EXPECT_EQ(parse_scenario(text, "a/b/chat.json", overrides).workload.source.path, "mine/t.jsonl");
}

TEST(Scenario, TakesTheDefaultsOfItsMachineWhereNothingElseIsGiven) {
  BaseScenario base;
  base.path = "chat.json";
  base.text = sample_scenario();
  base.machine_defaults = [](const Scenario& scenario) {
    return std::vector<std::string>{"serving.max_num_seqs=" +
                                    std::string(scenario.hardware.name == "h100-sxm-8x" ? "80" : "10")};
  };
  const auto sequences = [&](const std::vector<std::string>& overrides) {
    return load_scenario(base, overrides).serving.max_num_seqs;
  };
  EXPECT_EQ(sequences({"hardware=h100-sxm-8x"}), 80);
  EXPECT_EQ(sequences({"hardware=h100-sxm"}), 10);
  EXPECT_EQ(sequences({"hardware=h100-sxm", "serving.max_num_seqs=7"}), 7);
  EXPECT_EQ(sequences({"hardware=h100-sxm", R"(serving={"max_num_seqs":7})"}), 7);
  EXPECT_EQ(sequences({"serving={}", "hardware=h100-sxm"}), 10) << "as a launch line begins";
}

TEST(Scenario, KeepsTheNameOnHuggingFaceThatItWasGiven) {
  const auto name_of = [](const std::string& model) {
    return parse_scenario(sample_scenario(), "chat.json", {"model=" + model}).model.hugging_face;
  };
  EXPECT_EQ(name_of("meta-llama/Llama-3.3-70B-Instruct"), "meta-llama/Llama-3.3-70B-Instruct");
  EXPECT_TRUE(name_of("llama-3.1-70b").starts_with("meta-llama/Llama-3.1-70B")) << name_of("llama-3.1-70b");
}

TEST(Override, ReachesIntoWhatTheScenarioRefersToByName) {
  const std::string text = R"({"schema": "kvcap.scenario/1", "model": "llama-2-7b", "hardware": )" +
                           sample_hardware() +
                           R"(, "policy": "recompute", "workload": {"source": {"kind": "chat"}}})";
  const Scenario scenario =
      parse_scenario(text, "chat.json",
                     {"model.num_hidden_layers=2", "policy=kv_offload", "name=7b", "policy.tiers.0.kind=ssd",
                      "policy.tiers.0.capacity_bytes=4e9", "hardware.remote.capacity_bytes=1e12",
                      "hardware.remote.bandwidth_bytes_per_s=1e9"});
  EXPECT_EQ(scenario.model.num_hidden_layers, 2);
  EXPECT_EQ(scenario.model.hidden_size, 4096);
  EXPECT_EQ(scenario.name, "7b");
  EXPECT_EQ(scenario.policy.name, "kv_offload");
  ASSERT_EQ(scenario.policy.tiers->size(), 1u);
  EXPECT_EQ(scenario.policy.tiers->at(0).capacity_bytes, 4e9);
  EXPECT_EQ(scenario.hardware.remote->bandwidth_bytes_per_s, 1e9);
  EXPECT_EQ(parse_scenario(text, "chat.json", {"model=llama-2-13b"}).model.num_hidden_layers, 40);
  EXPECT_EQ(scenario_error(text, {"model=llama-2-13b", "model.hidden_size=0"}),
            "--set model.hidden_size=0: found 0, allowed: an integer from 1 to 1000000");
}

TEST(Override, OfMemoryScalesWhatTheDriverReports) {
  const std::string text = R"({"schema": "kvcap.scenario/1", "model": "qwen3-8b", "hardware": "a100-80g-sxm",
      "policy": "recompute", "workload": {"source": {"kind": "chat"}}})";
  const auto gpu = [&](const std::vector<std::string>& overrides) {
    return parse_scenario(text, "chat.json", overrides).hardware.gpu;
  };
  const double reported_bytes = *gpu({}).reported_memory_bytes;
  EXPECT_EQ(gpu({"hardware.gpu.memory_bytes=42949672960"}).reported_memory_bytes, reported_bytes / 2);
  EXPECT_EQ(gpu({"hardware.gpu.memory_bytes=40GiB"}).reported_memory_bytes, reported_bytes / 2);
  EXPECT_EQ(gpu({"hardware.gpu.memory_bytes=42949672960", "hardware.gpu.reported_memory_bytes=42e9"})
                .reported_memory_bytes,
            42e9);
  EXPECT_EQ(gpu({"hardware.gpu.count=1"}).reported_memory_bytes, reported_bytes);
}

TEST(Catalogue, HoldsOnlyFilesThatLoad) {
  EXPECT_FALSE(catalogue(Catalogue::models).empty());
  EXPECT_FALSE(catalogue(Catalogue::hardware).empty());
  EXPECT_FALSE(catalogue(Catalogue::workloads).empty());
  for (const CatalogueEntry& entry : catalogue(Catalogue::models)) {
    EXPECT_EQ(load_model(std::string(entry.name)).name, entry.name);
    std::ifstream file(KVCAP_SOURCE_DIR "/models/" + std::string(entry.name) + ".json", std::ios::binary);
    const std::string text(std::istreambuf_iterator<char>(file), {});
    if (!file.is_open()) continue;  // a row of published.jsonl
    EXPECT_EQ(text, entry.text);
  }
  for (const CatalogueEntry& entry : catalogue(Catalogue::hardware)) {
    EXPECT_EQ(load_hardware(std::string(entry.name)).name, entry.name);
  }
}

// Files in a folder that goes with the test.
class ReferencedFile : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("kvcap_load_" + std::to_string(getpid()));
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::string write(const std::string& name, const std::string& text) {
    fs::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name, std::ios::binary) << text;
    return (folder_ / name).string();
  }
  ModelSpec model(const std::string& text) { return load_model(write("my-model/config.json", text)); }

  fs::path folder_;
};

TEST_F(ReferencedFile, IsFoundBesideTheScenarioAndNamedInItsErrors) {
  const std::string model = write("tiny.json", sample_model());
  const std::string bad = write("bad.json", R"({"num_hidden_layers": -1})");
  const auto scenario = [](const std::string& name) {
    return R"({"schema": "kvcap.scenario/1", "model": ")" + name + R"(", "hardware": )" + sample_hardware() +
           R"(, "workload": {"source": {"kind": "chat"}}})";
  };
  const std::string file = write("chat.json", scenario("tiny.json"));
  EXPECT_EQ(load_scenario(file, {}).model.num_hidden_layers, 4);
  EXPECT_EQ(load_model(model).name, "tiny");
  write("chat.json", scenario("./bad.json"));
  EXPECT_EQ(error_of([&] { load_scenario(file, {}); }),
            bad + ": num_hidden_layers: found -1, allowed: an integer from 1 to 1000000");
  EXPECT_EQ(error_of([&] { load_scenario(folder_.string(), {}); }),
            folder_.string() + ": cannot be read: Is a directory");
  write("bad.json", "{,}");
  EXPECT_EQ(error_of([&] { load_scenario(file, {}); }),
            bad + ":1:2: syntax error while parsing object key - unexpected ','; expected string literal");
  EXPECT_EQ(error_of([&] { load_hardware("warp"); }).substr(0, 33), "hardware: found \"warp\", allowed: ");
  const std::string box = write("box.json", sample_hardware());
  EXPECT_EQ(load_hardware(box).ssd->count, 2);
}

TEST_F(ReferencedFile, MayKeepItsNotesToItself) {
  const std::string file =
      write("tiny.json", R"({"notes": ["about the model"], )" + sample_model().substr(1));
  const std::string text = R"({"schema": "kvcap.scenario/1", "model": ")" + file +
                           R"(", "notes": "mine", "hardware": )" + sample_hardware() +
                           R"(, "workload": {"source": {"kind": "chat"}, "notes": ["too"]}})";
  EXPECT_EQ(parse_scenario(text, "chat.json", {}).notes, (std::vector<std::string>{"mine", "too"}));
}

TEST_F(ReferencedFile, MayBeALlamaConfigOfHuggingFace) {
  const ModelSpec llama =
      model(R"({"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_act": "silu",
      "hidden_size": 4096, "intermediate_size": 14336, "max_position_embeddings": 8192, "num_attention_heads": 32,
      "num_hidden_layers": 32, "num_key_value_heads": 8, "rope_theta": 500000.0, "tie_word_embeddings": false,
      "torch_dtype": "bfloat16", "vocab_size": 128256})");
  EXPECT_EQ(llama.name, "my-model");
  EXPECT_EQ(llama.num_key_value_heads, 8);
  EXPECT_EQ(llama.head_dim, 128);
  EXPECT_EQ(llama.ffn, FfnKind::gated);
  EXPECT_EQ(llama.position_encoding, PositionEncoding::rope);
  EXPECT_EQ(llama.kv_bytes_per_element, 2);
  EXPECT_EQ(llama.kv_bytes_per_token(),
            2.0 * 8 * 128 * 2 * 32);  // K and V, 8 heads of 128, 2 bytes, 32 layers
}

TEST_F(ReferencedFile, MayBeAQuantisedConfigOfHuggingFace) {
  const std::string llama = R"({"model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336,
      "num_attention_heads": 32, "num_hidden_layers": 32, "num_key_value_heads": 8, "vocab_size": 128256,
      "torch_dtype": "bfloat16", "quantization_config": )";
  const ModelSpec fp8 = model(llama + R"({"quant_method": "fp8", "weight_block_size": [128, 128]}})");
  EXPECT_EQ(fp8.weight_bytes_per_element, 1 + 4.0 / (128 * 128));  // a scale of 32 bits a block
  EXPECT_EQ(fp8.kv_bytes_per_element, 2);
  EXPECT_EQ(fp8.gemm_input_bytes_per_element(), 1);
  EXPECT_EQ(fp8.head_weight_bytes_per_element(), 2);
  EXPECT_EQ(model(llama + R"({"quant_method": "awq", "bits": 4}})").gemm_input_bytes_per_element(), 2);
  EXPECT_EQ(model(llama + R"({"quant_method": "awq", "bits": 4}})").weight_bytes_per_element,
            0.5 + 2.5 / 128);
  EXPECT_THROW(model(llama + R"({"quant_method": "compressed-tensors"}})"), InputError);
}

TEST_F(ReferencedFile, MayBeAnOptOrFalconConfigOfHuggingFace) {
  const ModelSpec opt = model(R"({"_name_or_path": "facebook/opt-30b", "architectures": ["OPTForCausalLM"],
      "ffn_dim": 28672, "hidden_size": 7168, "max_position_embeddings": 2048, "model_type": "opt",
      "num_attention_heads": 56, "num_hidden_layers": 48, "vocab_size": 50272, "word_embed_proj_dim": 7168})");
  EXPECT_EQ(opt.name, "opt-30b");
  EXPECT_EQ(opt.intermediate_size, 28672);
  EXPECT_EQ(opt.num_key_value_heads, 56);
  EXPECT_EQ(opt.ffn, FfnKind::plain);
  EXPECT_EQ(opt.position_encoding, PositionEncoding::absolute);
  EXPECT_TRUE(opt.tie_word_embeddings);

  const std::string falcon = R"({"model_type": "falcon", "hidden_size": 4544, "num_hidden_layers": 32,
      "num_attention_heads": 71, "vocab_size": 65024, "multi_query": true, "alibi": false, )";
  EXPECT_EQ(model(falcon + R"("num_kv_heads": 71, "new_decoder_architecture": false})").num_key_value_heads,
            1);
  EXPECT_EQ(model(falcon + R"("num_kv_heads": 71, "new_decoder_architecture": true})").num_key_value_heads,
            71);
  EXPECT_EQ(model(falcon + R"("x": 0})").intermediate_size, 4 * 4544);
}

TEST_F(ReferencedFile, MayBeADeepSeekOrMixtralConfigOfHuggingFace) {
  const ModelSpec deepseek =
      model(R"({"model_type": "deepseek_v2", "hidden_size": 2048, "intermediate_size": 10944,
      "num_hidden_layers": 27, "num_attention_heads": 16, "num_key_value_heads": 16, "vocab_size": 102400,
      "max_position_embeddings": 163840, "kv_lora_rank": 512, "q_lora_rank": null, "qk_rope_head_dim": 64,
      "qk_nope_head_dim": 128, "v_head_dim": 128, "n_routed_experts": 64, "num_experts_per_tok": 6,
      "n_shared_experts": 2, "moe_intermediate_size": 1408, "first_k_dense_replace": 1, "torch_dtype": "bfloat16"})");
  ASSERT_TRUE(deepseek.latent && deepseek.experts);
  EXPECT_EQ(deepseek.latent->kv_lora_rank, 512);
  EXPECT_EQ(deepseek.latent->q_lora_rank, 0);
  EXPECT_EQ(deepseek.kv_elements_per_token_layer(), 576);  // latent 512 + rotary key 64
  EXPECT_EQ(deepseek.experts->shared, 2);
  EXPECT_EQ(deepseek.experts->dense_layers, 1);

  const ModelSpec mixtral = model(R"({"architectures": ["MixtralForCausalLM"], "hidden_size": 4096,
      "intermediate_size": 14336, "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8,
      "vocab_size": 32000, "max_position_embeddings": 32768, "num_local_experts": 8, "num_experts_per_tok": 2})");
  ASSERT_TRUE(mixtral.experts);
  EXPECT_EQ(mixtral.experts->count, 8);
  EXPECT_EQ(mixtral.experts->intermediate_size, 14336);
}

TEST_F(ReferencedFile, OfHuggingFaceIsRefusedWhenItsFamilyIsUnknown) {
  const std::string place = (folder_ / "my-model/config.json").string();
  const std::string lama = error_of([&] { model(R"({"model_type": "lama"})"); });
  EXPECT_EQ(lama.find(place + ": model_type: found \"lama\", allowed: one of the "), 0U) << lama;
  EXPECT_NE(lama.find(" that models/format.md lists; did you mean \"llama\"?"), std::string::npos) << lama;
  const std::string encoder = error_of([&] { model(R"({"model_type": "t5"})"); });
  EXPECT_NE(encoder.find("which is not simulated: it has an encoder"), std::string::npos) << encoder;
  EXPECT_NE(encoder.find("read it as another family with --as llama"), std::string::npos) << encoder;
  EXPECT_EQ(error_of([&] { model(R"({"model_type": "llama", "hidden_size": 64})"); }),
            place + ": num_attention_heads: missing, required");
  EXPECT_EQ(error_of([&] { model(R"({"model_type": "llama", "hidden_size": "64"})"); }),
            place + ": hidden_size: found \"64\", allowed: an integer from 0");
}

TEST(FieldsHelp, NamesEveryFieldWithItsRangeAndDefault) {
  std::map<std::string, std::string> texts;
  for (const FieldHelp& field : scenario_fields()) texts[field.path] = field.text;
  EXPECT_EQ(texts["serving.tensor_parallel_size"],
            "an integer from 1 to 1024 [GPUs], default 1: GPUs over which each layer is divided");
  EXPECT_TRUE(texts["policy.tiers.0.eviction"].starts_with(joined(kEvictionNames)));
  EXPECT_TRUE(texts["workload.source.kind"].starts_with(joined(source_names()) + ", required: "));
}

}  // namespace
}  // namespace kvcap::load_test
