// Tests kvcap show and kvcap restore, which answer without a workload.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "policy/table.h"
#include "scenario/load.h"
#include "unit/cli.h"

namespace kvcap::show_restore_test {
namespace {

using Json = nlohmann::json;

// ---- show ----

// Two GPUs are of the server that has them; the engine's share of their memory is its own.
TEST_F(Cli, ShowsTheMemoryOfSeveralGpusOfAServerAndOfAnotherEngine) {
  const auto memory = [&](std::vector<std::string> more) {
    more.insert(more.begin(),
                {"show", "memory", "--model", "qwen3-32b", "--gpus", "2", "--json", "--hardware"});
    const Outcome outcome = kvcap(more);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return Json::parse(outcome.out);
  };
  EXPECT_EQ(memory({"h100-sxm"}), memory({"h100-sxm-8x"}));
  EXPECT_EQ(memory({"h100-sxm", "--engine", "sglang"}),
            memory({"h100-sxm-8x", "--set", "serving.engine=sglang"}));
  EXPECT_NE(memory({"h100-sxm", "--engine", "sglang"}), memory({"h100-sxm"}));
  EXPECT_EQ(memory({"h100-sxm", "--engine", "vllm@0.9"}),
            memory({"h100-sxm-8x", "--set", "serving.engine_version=\"0.9\""}));
}

TEST_F(Cli, ShowAloneListsWhatItShows) {
  const Outcome outcome = kvcap({"show"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  for (const char* line : {"policies ", "models ", "hardware ", "workloads ", "fields ", "flags ", "memory ",
                           "support ", "schema "})
    EXPECT_NE(("\n" + outcome.out).find("\n" + std::string(line)), std::string::npos) << line << outcome.out;
}

TEST_F(Cli, ShowsTheFieldsOfAGroupAndOfAPart) {
  const auto names = [&](std::vector<std::string> asked) {
    asked.insert(asked.begin(), {"show", "fields"});
    asked.emplace_back("--json");
    std::vector<std::string> paths;
    for (const Json& field : Json::parse(kvcap(asked).out)) paths.push_back(field["name"]);
    return paths;
  };
  EXPECT_EQ(names({"slo"}), (std::vector<std::string>{"slo", "slo.ttft_ms", "slo.tpot_ms"}));
  const std::vector<std::string> lease = {"policy.tiers.0.lease_s"};
  EXPECT_EQ(names({"policy.tiers.2.lease_s"}), lease);
  EXPECT_EQ(names({"tiers.lease"}), lease);
  EXPECT_EQ(names({}).size(), scenario_fields().size());
  const Outcome unknown = kvcap({"show", "fields", "slo.tft_ms"});
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_NE(unknown.err.find("did you mean \"slo.ttft_ms\"?"), std::string::npos) << unknown.err;
  EXPECT_LE(std::ranges::count(kvcap({"run", "--help"}).out, '\n'), 50);
}

// H100 has kernels for all of a dense model in 16 bits, none for latents, and no FP4.
TEST_F(Cli, ShowsWhatTheTimesOfAModelRestOn) {
  const auto row = [&](const std::string& model, const std::string& hardware) {
    for (const Json& one : Json::parse(kvcap({"show", "support", model, "--json"}).out))
      if (one["hardware"] == hardware) return one;
    return Json();
  };
  const Json dense = row("llama-3.1-8b", "h100-sxm");
  EXPECT_EQ(dense["gpus"], 1);
  EXPECT_EQ(dense["engines"]["vllm"], "fitted");
  EXPECT_EQ(dense["engines"]["sglang"], "interpolated");
  EXPECT_EQ(dense["validated_runs"], Json({{"vllm", 54}, {"sglang", 0}, {"trtllm", 0}}));
  EXPECT_EQ(row("gpt-oss-120b", "h200-sxm-8x")["validated_runs"]["vllm"], 64);
  EXPECT_TRUE(dense["interpolated"].empty());
  const Json latent = row("deepseek-v3", "h200-sxm-8x");
  EXPECT_EQ(latent["gpus"], 8);
  EXPECT_EQ(latent["interpolated"], Json({"latent attention"}));
  EXPECT_EQ(row("deepseek-v3", "h100-sxm-8x")["engines"]["vllm"], "refused");  // 671 GB in 640
  EXPECT_EQ(row("llama-3.1-8b", "b300-sxm")["engines"]["vllm"], "data sheet");
  EXPECT_EQ(kvcap({"show", "support", "no-such-model"}).exit_code, 2);
  EXPECT_NE(kvcap({"show", "support"}).out.find("vllm from 0.14: "), std::string::npos);
  EXPECT_NE(kvcap({"show", "support", "llama-3.1-8b"}).out.find("fitted (54 runs)"), std::string::npos);
}

TEST_F(Cli, ShowsTheCatalogue) {
  for (const std::string what : {"policies", "models", "hardware", "workloads"}) {
    const Outcome list = kvcap({"show", what, "--json"});
    ASSERT_EQ(list.exit_code, 0) << list.err;
    const Json entries = Json::parse(list.out);
    // Each is a program that starts: of many every eighth.
    const std::size_t step = entries.size() > 100 ? 8 : 1;
    for (const Json& entry : entries) EXPECT_FALSE(entry["summary"].get<std::string>().empty());
    for (std::size_t i = 0; i < entries.size(); i += step) {
      const Json& entry = entries[i];
      const Outcome one = kvcap({"show", what, entry["name"].get<std::string>(), "--json"});
      EXPECT_EQ(one.exit_code, 0) << one.err;
      EXPECT_TRUE(Json::parse(one.out).is_object());
    }
  }
}

TEST_F(Cli, ShowsWhereTheMemoryOfAGpuGoes) {
  const Outcome shown =
      kvcap({"show", "memory", "--model", "llama-3.1-8b", "--hardware", "rtx-4090", "--json"});
  ASSERT_EQ(shown.exit_code, 0) << shown.err;
  const Json memory = Json::parse(shown.out);
  double left = memory["share_bytes"].get<double>();
  for (const Json& term : memory["terms"]) {
    if (term["charged"].get<bool>()) left -= term["bytes"].get<double>();
  }
  EXPECT_NEAR(left, memory["kv_bytes"].get<double>(), 1);
  EXPECT_EQ(memory["kv_capacity_tokens"].get<int64_t>(),
            16 * static_cast<int64_t>(left / memory["block_bytes"].get<double>()));
  // The same from a scenario, with fields and the group's size set; no line is wider than a terminal.
  const Outcome text = kvcap({"show", "memory", path("chat.json"), "--hardware", "h100-sxm-8x", "--gpus", "8",
                              "--set", "serving.kv_capacity_tokens=4096"});
  ASSERT_EQ(text.exit_code, 0) << text.err;
  EXPECT_NE(text.out.find("of 8 GPUs"), std::string::npos) << text.out;
  EXPECT_NE(text.out.find("serving.kv_capacity_tokens sets it: 4,096 tokens"), std::string::npos) << text.out;
  std::size_t widest = 0;
  for (std::size_t begin = 0; begin < text.out.size();) {
    const std::size_t end = std::min(text.out.find('\n', begin), text.out.size());
    widest = std::max(widest, end - begin);
    begin = end + 1;
  }
  EXPECT_LE(widest, 80U) << text.out;
  const Outcome simple = kvcap({"show", "memory", path("chat.json")});
  EXPECT_NE(simple.out.find("by weights and shapes alone"), std::string::npos) << simple.out;
  const Outcome assumed = kvcap({"show", "memory", "--model", "llama-2-7b", "--hardware", "a100-80g-sxm"});
  EXPECT_NE(assumed.out.find("79.25 GiB, assumed"), std::string::npos) << assumed.out;
}

// gpt-oss-20b: 12 full and 12 sliding layers of 2,048 bytes a token: blocks of 12 x 16 x 2,048 bytes =
// 384 KiB in two groups. A sequence of 131,072 tokens holds 8,192 blocks of the first and, of the second,
// ceil((127 + 8,192) / 16) + 1 = 521 where a step computes 8,192 tokens, and 137 where it computes 2,048.
TEST_F(Cli, ShowsBlocksThatGroupsOfLayersShare) {
  const std::vector<std::string> command = {"show",        "memory",     "--model",
                                            "gpt-oss-20b", "--hardware", "h100-sxm"};
  const Outcome text = kvcap(command);
  ASSERT_EQ(text.exit_code, 0) << text.err;
  EXPECT_NE(text.out.find("blocks of 0.375 MiB, which 2 groups"), std::string::npos) << text.out;
  std::vector<std::string> with_json = command;
  with_json.emplace_back("--json");
  const Json memory = Json::parse(kvcap(with_json).out);
  EXPECT_EQ(memory["block_bytes"].get<double>(), 12 * 16 * 2048);
  EXPECT_EQ(memory["kv_capacity_tokens"].get<int64_t>(), memory["blocks"].get<int64_t>() / 2 * 16);
  EXPECT_NE(text.out.find("A sequence of 131,072 tokens holds up to 8,"), std::string::npos) << text.out;
}

TEST_F(Cli, ShowsTheSchemaOfEachKindOfFile) {
  const std::pair<const char*, const char*> kinds[] = {
      {"scenario", "policy"}, {"plan", "search"},  {"sweep", "grid"},       {"study", "checks"},
      {"prices", "hardware"}, {"hardware", "gpu"}, {"model", "hidden_size"}};
  const std::string list = kvcap({"show", "schema"}).out;
  EXPECT_EQ(std::count(list.begin(), list.end(), '\n'), std::ssize(kinds)) << list;
  for (const auto& [kind, field] : kinds) {
    const Json schema = Json::parse(kvcap({"show", "schema", kind}).out);
    EXPECT_TRUE(schema["properties"].contains(field)) << kind;
    EXPECT_EQ(schema["properties"]["schema"]["const"], std::string("kvcap.") + kind + "/1");
    EXPECT_NE(list.find(kind), std::string::npos) << list;
  }
  EXPECT_EQ(kvcap({"show", "schema", "plans"}).err,
            "kvcap: show schema: found \"plans\", allowed: scenario, plan, sweep, study, prices, hardware, "
            "model; did you mean \"plan\"?\n");
  write("s.json", "{}");
  EXPECT_EQ(kvcap({"sweep", path("s.json"), "--out", path("so")}).err,
            "kvcap: " + path("s.json") + ": schema: missing, required: \"kvcap.sweep/1\"\n");
}

TEST_F(Cli, ShowsWhatEachStackWasReadFromAndHowItCompares) {
  for (const PolicyRow& row : policy_table()) {
    EXPECT_EQ(row.read_from.empty(), row.tiers.empty()) << row.name;
    EXPECT_EQ(row.accuracy.empty(), row.tiers.empty()) << row.name;
  }
  const std::string source = "LMCache docs/source/mp/configuration.rst@0039822";
  const Json shown = Json::parse(kvcap({"show", "policies", "lmcache_mp", "--json"}).out);
  EXPECT_EQ(shown["read_from"].get<std::string>().find(source), 0U) << shown;
  EXPECT_EQ(shown["accuracy"], "not compared with any run");
  const std::string text = kvcap({"show", "policies", "lmcache_mp"}).out;
  EXPECT_NE(text.find("\nread_from: " + source), std::string::npos) << text;
  EXPECT_NE(text.find("\naccuracy: not compared with any run\n"), std::string::npos) << text;
  EXPECT_FALSE(Json::parse(kvcap({"show", "policies", "hcache", "--json"}).out).contains("read_from"));
}

TEST_F(Cli, SaysThatAStackWasReadFromAnOlderVersionThanTheEngines) {
  const std::string older = "vllm_offload works in vLLM 0.30 as in 0.25, the version that it was read from";
  const Json shown = Json::parse(kvcap({"show", "policies", "vllm_offload", "--json"}).out);
  EXPECT_EQ(shown["assumed"], older);
  EXPECT_FALSE(Json::parse(kvcap({"show", "policies", "hicache", "--json"}).out).contains("assumed"));
  // Of the engine asked for, in the list as well.
  for (const auto& [engine, warning] : std::map<std::string, std::string>{
           {"vllm@0.27", "assumed: vllm_offload works in vLLM 0.27 as in 0.25"},
           {"vllm@0.25", ""},
           {"sglang", ""}}) {
    const std::string list = kvcap({"show", "policies", "--engine", engine}).out;
    EXPECT_EQ(list.find("assumed: ") == std::string::npos, warning.empty()) << list;
    EXPECT_NE(list.find(warning), std::string::npos) << list;
  }
  EXPECT_EQ(kvcap({"show", "policies", "--engine", "vlm"}).exit_code, 2);
  EXPECT_EQ(kvcap({"show", "policies", "--engine", "vllm@new"}).exit_code, 2);
  EXPECT_EQ(kvcap({"show", "models", "--engine", "vllm"}).exit_code, 2);
  EXPECT_EQ(older_preset_text(policy_row("vllm_offload"), {0, 26}),
            "vllm_offload works in vLLM 0.26 as in 0.25, the version that it was read from");
  EXPECT_EQ(older_preset_text(policy_row("vllm_offload"), {0, 25}), "");
  EXPECT_EQ(older_preset_text(policy_row("hicache"), {0, 30}), "");
}

// constant: e of the peak once the GEMM is no longer bound by its bytes, and so a bar of that height.
TEST_F(Cli, ShowsWhatAMachineOfAFileReachesOfItsPeak) {
  write("mine.json", R"({"schema": "kvcap.hardware/1", "name": "mine",
    "provenance": {"kind": "measured", "source": "a test"},
    "gpu": {"name": "G", "peak_flops": 1e14, "memory_bytes": 8e10, "memory_bandwidth_bytes_per_s": 1e12,
            "sm_count": 100, "gemm": {"model": "constant", "efficiency": 0.5},
            "attention": {"model": "constant", "efficiency": 0.25}},
    "pcie": {"h2d_bandwidth_bytes_per_s": 1e10, "d2h_bandwidth_bytes_per_s": 1e10}})");
  const Outcome shown = kvcap({"show", "hardware", path("mine.json")});
  EXPECT_EQ(shown.exit_code, 0) << shown.err;
  EXPECT_NE(
      shown.out.find("  16384             50.0            50.0               25.0  |##################\n"),
      std::string::npos)
      << shown.out;
  write("broken.json", "{}");
  EXPECT_EQ(kvcap({"show", "hardware", path("broken.json")}).exit_code, 2);
}

// ---- restore ----

// The same layers come back the same way, whichever policy says so; divided tokens are projected as well.
TEST_F(Cli, CountsTheOperationsOfEveryWayToRestore) {
  const auto flops = [this](const std::string& policy, const std::string& set) {
    const Outcome outcome =
        kvcap({"restore", "--model", "llama-2-13b", "--hardware", "a100-40g-4x-pm9a3", "--tokens", "4096",
               "--policy", policy, "--set", "hardware.ssd.count=1", "--set", set, "--json"});
    const Json one = Json::parse(outcome.out)["policies"][0];
    return std::pair(one["schedule"], one["restore_flops"].get<double>());
  };
  const auto [schedule, hcache] = flops("hcache", "policy.split=best");
  ASSERT_GT(schedule["recompute_layers"], 0);
  const auto [chosen, adaptive] = flops("adaptive", "seed=1");
  ASSERT_EQ(chosen, schedule);
  EXPECT_NEAR(adaptive, hcache, 1e-9 * hcache);
  EXPECT_GT(flops("hcache", "policy.split=token").second, 0.5 * hcache);
}

// 69e9 parameters of two bytes on a GPU of 42.9 GB.
TEST_F(Cli, RestoresOntoAGpuThatIsTooSmallButSaysSo) {
  const auto notes_of = [&](const std::string& model) {
    const Outcome outcome = kvcap({"restore", "--model", model, "--hardware", "a100-40g-4x-pm9a3", "--tokens",
                                   "64", "--policy", "kv_offload", "--json"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return Json::parse(outcome.out)["notes"];
  };
  EXPECT_TRUE(notes_of("llama-2-7b").empty());
  const Json notes = notes_of("llama-2-70b");
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_EQ(notes[0],
            "weights of 138 GB do not fit a GPU memory of 42.9 GB: run refuses this machine; --gpus "
            "takes more GPUs");
}

// 2 x 32 layers x 32 heads x 128 elements of two bytes: 512 KiB a token.
TEST_F(Cli, PrintsKibibytesOfStoredTokens) {
  const std::string restore =
      kvcap({"restore", "--model", "llama-2-7b", "--hardware", "a100-40g-4x-pm9a3", "--tokens", "2048"}).out;
  const std::size_t row = restore.find("\nkv_offload");
  ASSERT_NE(row, std::string::npos) << restore;
  EXPECT_NE(restore.substr(row, restore.find('\n', row + 1) - row).find(" 512.0 "), std::string::npos)
      << restore;
  EXPECT_NE(kvcap({"show", "models"}).out.find("512 KiB of KV and 256 KiB of hidden states"),
            std::string::npos);
}

// Policies that restore alike share a row, and all of them are named.
TEST_F(Cli, PrintsTheDistinctWaysToRestore) {
  const std::vector<std::string> ask = {"restore",    "--model",           "llama-2-7b",
                                        "--hardware", "a100-40g-4x-pm9a3", "--tokens"};
  const auto of = [&](const char* tokens) {
    std::vector<std::string> arguments = ask;
    arguments.push_back(tokens);
    return kvcap(arguments);
  };
  const std::string one = of("2048").out;
  EXPECT_EQ(one.find("\nvllm_offload"), std::string::npos) << one;
  EXPECT_NE(one.find("\nas kv_offload: "), std::string::npos) << one;
  for (const std::string_view policy : policy_names())
    EXPECT_NE(one.find(policy), std::string::npos) << policy;
  const std::string two = of("1k,4k").out;
  EXPECT_NE(two.find(" 1,000   4,000\n"), std::string::npos) << two;
  EXPECT_NE(two.find("\nhcache restores 4,000 tokens"), std::string::npos) << two;
  for (const std::string& page : {one, two}) {
    EXPECT_NE(page.find("\n\nbounds, as if the GPU still held the context: ideal, prefix_caching\n"),
              std::string::npos)
        << page;
  }
  std::vector<std::string> real = ask;
  real.insert(real.end(), {"2048", "--policy", "hcache"});
  EXPECT_EQ(kvcap(real).out.find("bounds"), std::string::npos);
  EXPECT_EQ(of("4k,").err, "kvcap: --tokens: found \"4k,\", allowed: items between the commas\n");
  EXPECT_EQ(of("0.5").exit_code, 2);
}

// Papers restore contexts longer than a model's window; the answer names the limits that it passes.
TEST_F(Cli, SaysThatARestoredContextExceedsTheModelOrTheMemory) {
  const auto says = [&](const char* tokens, const std::string& words) {
    const std::string text = kvcap({"restore", "--model", "llama-2-13b", "--hardware", "a100-40g-4x-pm9a3",
                                    "--policy", "hcache", "--tokens", tokens})
                                 .out;
    return text.find(words) != std::string::npos;
  };
  EXPECT_FALSE(says("4032", "exceed"));
  EXPECT_TRUE(says("4033", "note: 4,097 tokens exceed the model's 4,096 positions: times beyond"));
  EXPECT_TRUE(says("8k,16384", "exceed the model's 4,096 positions and the 16,"));
}

TEST_F(Cli, SeveralLengthsAreADocumentEach) {
  const Json documents =
      Json::parse(kvcap({"restore", "--model", "llama-2-7b", "--hardware", "a100-40g-4x-pm9a3", "--tokens",
                         "512,1024", "--policy", "hcache", "--json"})
                      .out);
  ASSERT_EQ(documents.size(), 2U);
  EXPECT_EQ(documents[1]["schema"], "kvcap.restore/1");
  EXPECT_EQ(documents[1]["tokens"], 1024);
  EXPECT_LT(documents[0]["policies"][0]["restore_s"], documents[1]["policies"][0]["restore_s"]);
}

TEST_F(Cli, RestoresOneContextWithEveryPolicy) {
  const Outcome outcome = kvcap(
      {"restore", "--model", "llama-2-7b", "--hardware", "a100-40g-4x-pm9a3", "--tokens", "2048", "--json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const Json report = Json::parse(outcome.out);
  EXPECT_EQ(report["schema"], "kvcap.restore/1");
  EXPECT_EQ(report["tier"], "ssd");
  for (const Json& entry : report["policies"]) {
    EXPECT_NEAR(entry["restore_s"].get<double>(), entry["closed_form_restore_s"].get<double>(),
                0.02 * entry["ttft_s"].get<double>());
    EXPECT_NEAR(entry["ttft_s"].get<double>(),
                entry["prefill_s"].get<double>() + entry["restore_s"].get<double>(), 1e-12);
    const Json& schedule = entry["schedule"];
    const int layers = schedule["hidden_layers"].get<int>() + schedule["kv_layers"].get<int>() +
                       schedule["recompute_layers"].get<int>();
    EXPECT_EQ(layers, entry["policy"] == "ideal" ? 0 : 32);
    for (const Json& span : entry["timeline"]) {
      EXPECT_TRUE(span["stream"] == "io" || span["stream"] == "compute");
      EXPECT_LE(span["start_s"].get<double>(), span["end_s"].get<double>());
      EXPECT_LE(span["end_s"].get<double>(), entry["ttft_s"].get<double>() + 1e-9);
    }
  }
}

// An engine computes a single new token as a decode, which is no reason for a restoration to take less than
// no time, or less than its link needs. A fused restoration loads while it computes the new tokens.
TEST_F(Cli, NoRestorationTakesLessTimeThanItsLoads) {
  for (const char* tokens : {"1", "2", "16"}) {
    const Outcome outcome = kvcap({"restore", "--model", "llama-3.1-8b", "--hardware", "h100-sxm", "--tokens",
                                   "8192", "--new-tokens", tokens, "--json"});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    constexpr double kBytesPerS = 14.2e9, kRounding_s = 1e-9;
    for (const Json& entry : Json::parse(outcome.out)["policies"]) {
      const std::string where = entry["policy"].get<std::string>() + " " + tokens;
      const double restore_s = entry["restore_s"], ttft_s = entry["ttft_s"];
      const double loads_s =
          entry["is_bound"].get<bool>() ? 0 : entry["read_bytes"].get<double>() / kBytesPerS;
      EXPECT_GE(restore_s, -kRounding_s) << where;
      EXPECT_GE(ttft_s, loads_s - kRounding_s) << where;
      if (entry["timeline"].back()["what"] == "prefill of all layers") {
        EXPECT_GE(restore_s, loads_s - kRounding_s) << where;
      }
      EXPECT_NEAR(restore_s, entry["closed_form_restore_s"].get<double>(), 0.02 * ttft_s) << where;
    }
  }
}

// Without --policy all policies that serve the model come, and the others are named.
TEST_F(Cli, RestoresAModelWithStatesByThePoliciesThatServeIt) {
  const std::vector<std::string> command = {"restore",
                                            "--model",
                                            "qwen3-next-80b-a3b",
                                            "--hardware",
                                            "h200-sxm-8x",
                                            "--set",
                                            "serving.tensor_parallel_size=4",
                                            "--tokens",
                                            "8192"};
  const Outcome text = kvcap(command);
  ASSERT_EQ(text.exit_code, 0) << text.err;
  EXPECT_NE(text.out.find("kv_offload"), std::string::npos) << text.out;
  EXPECT_NE(text.out.find("left out, since they do not serve layers that keep a window or a state: "),
            std::string::npos)
      << text.out;
  std::vector<std::string> refused = command;
  refused.insert(refused.end(), {"--policy", "cacheblend"});
  EXPECT_EQ(kvcap(refused).exit_code, 2);
}

}  // namespace
}  // namespace kvcap::show_restore_test
