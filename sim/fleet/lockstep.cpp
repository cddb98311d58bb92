// Runs the steps of a unit: a single engine, or the ranks of a node that share experts and step together.
#include <algorithm>
#include <limits>

#include "fleet/fleet.h"

namespace kvcap {
// Ends the step if it is over on all members; otherwise returns the time at which the slowest member ends it.
std::optional<double> Fleet::finish(Slot unit, double now_s) {
  const std::span<Member> members = members_of(unit);
  if (members.size() == 1) return members.front().instance->finish(now_s);
  std::optional<double> end_s;
  for (Member& member : members) {
    const std::optional<double> until_s = member.instance->busy_until_s(now_s);
    if (until_s) end_s = std::max(*until_s, end_s.value_or(0));
  }
  if (end_s && *end_s > now_s + kTimeResolution_s) return end_s;
  for (Member& member : members) member.instance->finish(now_s);
  return std::nullopt;
}

// Begins the next step of all members if some member has work and none is blocked. Returns the time of the
// next call.
double Fleet::proceed(Slot unit, double now_s) {
  const std::span<Member> members = members_of(unit);
  if (members.size() == 1) return members.front().instance->proceed(now_s);
  bool has_work = false, is_blocked = false;
  int64_t rows = 0;
  for (Member& member : members) {
    const Instance::Plan plan = member.instance->prepare(now_s);
    has_work = has_work || plan == Instance::Plan::step;
    is_blocked = is_blocked || plan == Instance::Plan::blocked;
    rows += member.instance->steps().rows();
  }
  const bool begins = has_work && !is_blocked;
  double longest_s = 0;
  for (Member& member : members) {
    Instance& instance = *member.instance;
    if (!begins) {
      instance.steps().withdraw();
      continue;
    }
    longest_s = std::max(longest_s, instance.begin(now_s, rows - instance.steps().rows()));
  }
  if (begins) {
    for (Member& member : members) member.instance->steps().wait_for_slowest(longest_s);
  }
  double first_s = std::numeric_limits<double>::infinity(), last_s = 0;
  for (Member& member : members) {
    const double next_s = member.instance->settle(now_s);
    first_s = std::min(first_s, next_s);
    last_s = std::max(last_s, next_s);
  }
  return begins ? last_s : first_s;
}

}  // namespace kvcap
