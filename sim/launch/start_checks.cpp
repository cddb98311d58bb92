#include "launch/start_checks.h"

#include <algorithm>

#include "launch/flags/flag_rows.h"
#include "launch/quantization.h"
#include "launch/values.h"
#include "scenario/load.h"

namespace kvcap {
namespace {

class StartChecks {
 public:
  StartChecks(const LaunchLine& line, const std::map<std::string, std::string>& fields)
      : line_(line), fields_(fields), model_(load_model(line.model)) {}

  void run() const {
    check_length();
    check_devices();
    check_experts();
    check_block_size();
    check_kv_format();
  }

 private:
  int64_t integer_of(const std::string& field, int64_t otherwise) const {
    const auto found = fields_.find(field);
    return found == fields_.end() ? otherwise : integer_value(field, found->second);
  }

  // Returns the flag that sets the field; null if none does.
  const TakenFlag* flag_of(const std::string& field) const {
    const auto found = std::find_if(line_.flags.rbegin(), line_.flags.rend(), [&](const TakenFlag& one) {
      return std::find(one.fields.begin(), one.fields.end(), field) != one.fields.end();
    });
    return found == line_.flags.rend() ? nullptr : &*found;
  }
  // Returns the flag or variable of this name; null if the line has none.
  const TakenFlag* taken(std::string_view name) const {
    const auto found = std::find_if(line_.flags.begin(), line_.flags.end(),
                                    [&](const TakenFlag& one) { return one.flag == name; });
    return found == line_.flags.end() ? nullptr : &*found;
  }

  // vLLM: config/model.py, _get_and_verify_max_len; SGLang: configs/model_config.py, _derive_context_length.
  void check_length() const {
    const TakenFlag* said = flag_of("serving.max_model_len");
    const int64_t positions = integer_of("model.max_position_embeddings", model_.max_position_embeddings);
    if (!said || line_.engine == Stack::trtllm || integer_of("serving.max_model_len", 0) <= positions) return;
    const std::string_view permission = line_.engine == Stack::sglang
                                            ? "SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN"
                                            : "VLLM_ALLOW_LONG_MAX_MODEL_LEN";
    const TakenFlag* permitted = taken(permission);
    const bool has_other_rope = std::any_of(line_.flags.begin(), line_.flags.end(), [](const TakenFlag& one) {
      return one.flag.find("rope") != std::string::npos;
    });
    if (has_other_rope || scales_positions(line_.model) ||
        (permitted && lower_case(permitted->value) != "0" && lower_case(permitted->value) != "false"))
      return;
    refuse_value(said->place + said->flag, said->value,
                 "at most the model's " + std::to_string(positions) + " positions, unless " +
                     std::string(permission) + "=1 or a scaling of its rotary embedding is set");
  }

  void check_devices() const {
    // Ranks may be on other nodes.
    for (const char* flag : {"--distributed-executor-backend", "--data-parallel-backend"}) {
      if (const TakenFlag* one = taken(flag); one && lower_case(one->value) == "ray") return;
    }
    for (const char* flag :
         {"--data-parallel-rank", "-dpn", "--data-parallel-start-rank", "-dpr", "--nnodes"}) {
      if (std::find(line_.left_out.begin(), line_.left_out.end(), flag) != line_.left_out.end()) return;
    }
    const TakenFlag* visible = taken("CUDA_VISIBLE_DEVICES");
    if (!visible || visible->value.empty() || has_variable(visible->value)) return;
    const auto devices = 1 + std::count(visible->value.begin(), visible->value.end(), ',');
    const int64_t needed = integer_of("serving.tensor_parallel_size", 1) *
                           integer_of("serving.pipeline_parallel_size", 1) *
                           integer_of("serving.data_parallel_size", 1);
    if (devices >= needed) return;
    refuse_value(visible->flag, visible->value,
                 "the " + std::to_string(needed) + " GPUs of the engine's ranks");
  }

  // SGLang: server_args.py; TensorRT-LLM: mapping.py. Both divide the ranks of tensor parallelism into groups
  // that hold whole experts.
  void check_experts() const {
    const TakenFlag* said = flag_of("serving.expert_parallel");
    if (!said || said->value.empty() || line_.engine == Stack::vllm ||
        said->value.find_first_not_of("0123456789") != std::string::npos)
      return;
    const int64_t parts = integer_value(said->flag, said->value);
    const int64_t ranks =
        integer_of("serving.tensor_parallel_size", 1) * integer_of("serving.data_parallel_size", 1);
    if (parts < 1 || ranks % parts != 0) {
      refuse_value(said->place + said->flag, said->value,
                   "a divisor of the " + std::to_string(ranks) + " GPUs of tensor parallelism");
    }
  }

  // vLLM's attention kernels take 1, 8 or multiples of 16 tokens (config/cache.py, BlockSize).
  void check_block_size() const {
    const TakenFlag* said = flag_of("serving.block_size");
    const int64_t tokens = integer_of("serving.block_size", 16);
    if (!said || line_.engine != Stack::vllm || tokens == 1 || tokens == 8 || tokens % 16 == 0) return;
    refuse_value(said->place + said->flag, said->value, "1, 8, or a multiple of 16");
  }

  // vLLM: attention/layer.py, "fp8_e5m2 kv-cache is not supported with fp8 checkpoints". Checkpoints of
  // compressed-tensors without a format for KV start (vllm#45040).
  void check_kv_format() const {
    const TakenFlag* said = flag_of("model.kv_bytes_per_element");
    if (!said || line_.engine != Stack::vllm || lower_case(said->value) != "fp8_e5m2") return;
    const bool is_fp8 = model_.weight_block_size > 0 || model_.kv_bytes_per_element == 1 ||
                        lower_case(quantization_of(line_.model)) == "fp8";
    if (!is_fp8) return;
    refuse_value(said->place + said->flag, said->value, "auto, fp8 or fp8_e4m3 with an FP8 checkpoint");
  }

  const LaunchLine& line_;
  const std::map<std::string, std::string>& fields_;
  ModelSpec model_;
};

}  // namespace

void refuse_what_does_not_start(const LaunchLine& line, const std::map<std::string, std::string>& fields) {
  StartChecks(line, fields).run();
}

}  // namespace kvcap
