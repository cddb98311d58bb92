// Runs the steps of a unit: a single engine, or the ranks of a node that share experts and step together.
#include <algorithm>
#include <limits>

#include "fleet/fleet.h"

namespace kvcap {
// Ends the step if it is over on all members; otherwise returns the time at which the slowest member ends it.
std::optional<double> Fleet::finish(Slot unit, double now_s) {
  const std::span<Member> members = members_of(unit);
  if (members.size() == 1) return members.front().instance->finish(now_s);
  const std::optional<double> end_s = step_end_s(members, now_s);
  if (end_s && *end_s > now_s + kTimeResolution_s) return end_s;
  for (Member& member : members) member.instance->finish(now_s);
  return std::nullopt;
}

// Returns the end of the members' step or run of steps; nullopt: none runs.
std::optional<double> Fleet::step_end_s(std::span<Member> members, double now_s) {
  Steps& first = members.front().instance->steps();
  std::optional<double> end_s;
  if (!first.in_long_run()) {
    for (Member& member : members) {
      const std::optional<double> until_s = member.instance->busy_until_s(now_s);
      if (until_s) end_s = std::max(*until_s, end_s.value_or(0));
    }
    return end_s;
  }
  double event_s = std::numeric_limits<double>::infinity();
  for (const Member& member : members) event_s = std::min(event_s, member.instance->next_event_s());
  end_s = first.end_s(now_s, event_s);
  for (Member& member : members) member.instance->steps().keep_pace(first);
  return end_s;
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
  for (Member& member : members) {
    Instance& instance = *member.instance;
    if (begins) {
      instance.begin(now_s, rows - instance.steps().rows());
    } else {
      instance.steps().withdraw();
    }
  }
  if (begins) wait_for_slowest(members);
  std::optional<double> run_end_s;
  if (begins && members.front().instance->steps().in_long_run()) run_end_s = step_end_s(members, now_s);
  double first_s = std::numeric_limits<double>::infinity(), last_s = 0;
  for (Member& member : members) {
    const double next_s = member.instance->settle(now_s);
    first_s = std::min(first_s, next_s);
    last_s = std::max(last_s, next_s);
  }
  return begins ? run_end_s.value_or(last_s) : first_s;
}

// Makes the steps of all members as long as the slowest's, and as many.
void Fleet::wait_for_slowest(std::span<Member> members) {
  DecodeRun slowest = members.front().instance->steps().durations();
  int64_t most_steps = std::numeric_limits<int64_t>::max();
  for (const Member& member : members) {
    const Steps& steps = member.instance->steps();
    slowest = slowest.longest(steps.durations());
    most_steps = std::min(most_steps, member.instance->has_whole_gpu() ? steps.most_steps() : 1);
  }
  for (Member& member : members) member.instance->steps().wait_for_slowest(slowest, most_steps);
}

}  // namespace kvcap
