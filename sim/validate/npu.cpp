// KV buffers of a static-graph NPU: sizes, which follow from the shape alone and are met to the byte.
#include "validate/papers.h"

namespace kvcap {
namespace {

Check reserved(Lab& lab, const std::string& id, const std::string& policy, const std::string& slots) {
  Check check = published(id);
  check.what = "bytes that " + policy + " reserves for a sequence: Llama-7B, S = 2048, 16 bits, " + slots;
  check.simulated = {lab.metric("npu/buffers", {"policy.name=" + policy}, "kv_buffer.reserved_bytes")};
  check.exact_tolerance = 0;
  judge(check);
  return check;
}

}  // namespace

std::vector<Check> npu_checks(Lab& lab) {
  return {reserved(lab, "htp.full", "npu_reserve_2x", "2 (S - 1) slots"),
          reserved(lab, "htp.half", "npu_reserve_1_5x", "1.5 (S - 1) slots, not rounded")};
}

}  // namespace kvcap
