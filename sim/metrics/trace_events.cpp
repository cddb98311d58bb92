#include "metrics/trace_events.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string_view>

namespace kvcap {
namespace {

// Process ids in the trace. Each further node has a pair of ids after these.
constexpr int kMachine = 1, kLevels = 2, kRequests = 3;
int machine_of(std::size_t node) { return node == 0 ? kMachine : 2 + 2 * static_cast<int>(node); }
int levels_of(std::size_t node) { return node == 0 ? kLevels : machine_of(node) + 1; }
// Track numbers of a resource begin at a multiple of this.
constexpr int kTracksOfResource = 100;

// Writes the events of a trace, separated by commas.
class EventWriter {
 public:
  explicit EventWriter(const std::string& title) {
    text_ = R"({"displayTimeUnit":"ms","otherData":{"title":)" + quoted(title) + R"(},"traceEvents":[)";
  }

  void name_process(int process, std::string_view name) { name_of("process_name", process, 0, name); }
  void name_track(int process, int track, std::string_view name) {
    name_of("thread_name", process, track, name);
  }

  void slice(int process, int track, std::string_view name, double from_s, double to_s, double share) {
    begin("X", process, track, name, from_s);
    add(R"(,"dur":)", (to_s - from_s) * 1e6);
    add(R"(,"args":{"busy_percent":)", 100 * share);
    text_ += "}}";
  }

  void counter(int process, std::string_view name, double now_s, double value) {
    begin("C", process, 0, name, now_s);
    add(R"(,"args":{"value":)", value);
    text_ += "}}";
  }

  // Writes a phase of a turn; phases with the same id are drawn nested.
  void phase(std::size_t id, std::string_view name, double from_s, double to_s,
             const std::string& args = "") {
    begin("b", kRequests, 0, name, from_s);
    identify(id);
    if (!args.empty()) text_ += ",\"args\":{" + args + "}";
    text_ += '}';
    begin("e", kRequests, 0, name, to_s);
    identify(id);
    text_ += '}';
  }

  void open(std::size_t id, std::string_view name, double at_s, const std::string& args) {
    begin("b", kRequests, 0, name, at_s);
    identify(id);
    text_ += ",\"args\":{" + args + "}}";
  }
  void close(std::size_t id, std::string_view name, double at_s) {
    begin("e", kRequests, 0, name, at_s);
    identify(id);
    text_ += '}';
  }

  std::string take() {
    text_ += "]}\n";
    return std::move(text_);
  }

 private:
  static std::string quoted(std::string_view text) {
    return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  }

  void begin(const char* kind, int process, int track, std::string_view name, double at_s) {
    text_ += first_ ? "\n" : ",\n";
    first_ = false;
    text_ += R"({"ph":")";
    text_ += kind;
    text_ += R"(","pid":)" + std::to_string(process) + R"(,"tid":)" + std::to_string(track) + R"(,"name":)" +
             quoted(name);
    add(R"(,"ts":)", at_s * 1e6);
  }
  void name_of(const char* what, int process, int track, std::string_view name) {
    begin("M", process, track, what, 0);
    text_ += R"(,"args":{"name":)" + quoted(name) + "}}";
  }
  void identify(std::size_t id) { text_ += R"(,"cat":"request","id":)" + std::to_string(id); }
  void add(const char* key, double number) {
    char digits[40];
    std::snprintf(digits, sizeof digits, "%.3f", number);
    text_ += key;
    text_ += digits;
  }

  std::string text_;
  bool first_ = true;
};

void write_turn(EventWriter& writer, std::size_t id, const TurnRecord& turn) {
  const std::string name = "session " + std::to_string(turn.session) + ", turn " + std::to_string(turn.turn);
  const std::string args = R"("history_tokens":)" + std::to_string(turn.history_tokens) +
                           R"(,"input_tokens":)" + std::to_string(turn.input_tokens) +
                           R"(,"output_tokens":)" + std::to_string(turn.output_tokens) + R"(,"hit_tokens":)" +
                           std::to_string(turn.hit_tokens) +
                           (turn.node > 0 ? R"(,"node":)" + std::to_string(turn.node) : "");
  if (turn.failed) {
    const std::string attempts = R"(,"abandoned":)" + std::to_string(turn.abandoned);
    writer.phase(id, name + ", failed", turn.arrival_s, turn.arrival_s + turn.e2el_s, args + attempts);
    return;
  }
  if (turn.rejected) {
    writer.phase(id, name + ", rejected", turn.arrival_s, turn.arrival_s, args);
    return;
  }
  writer.open(id, name, turn.arrival_s, args);
  double at_s = turn.arrival_s;
  const auto then = [&](std::string_view phase, double seconds) {
    if (seconds <= 0) return;
    writer.phase(id, phase, at_s, at_s + seconds);
    at_s += seconds;
  };
  then("abandoned attempts", turn.earlier_s);
  then("API server", turn.api_s);
  then("queue", turn.ttft_s - turn.service_ttft_s - turn.earlier_s - turn.api_s);
  then("lookup", turn.lookup_s);
  then("load", turn.load_s);
  then("restore compute", turn.restore_compute_s);
  const double handed_over_s = turn.decode_queue_s + turn.transfer_s + turn.first_step_s;
  then("prefill", turn.arrival_s + turn.ttft_s - handed_over_s - at_s);
  then("decode queue", turn.decode_queue_s);
  then("transfer", turn.transfer_s);
  then("first step", turn.first_step_s);
  then("decode", turn.arrival_s + turn.e2el_s - at_s);
  writer.close(id, name, turn.arrival_s + turn.e2el_s);
}

}  // namespace

void TraceEvents::busy(Resource which, double busy_s, double from_s, double to_s, std::size_t node) {
  slices_.push_back({which, from_s, to_s, busy_s, node});
}

void TraceEvents::level(Level which, double value, double now_s, std::size_t node) {
  counts_.push_back({which, now_s, value, node});
}

std::string TraceEvents::json(const std::string& name, const std::vector<TurnRecord>& turns) const {
  EventWriter writer(name);
  std::size_t nodes = 1;
  for (const Slice& slice : slices_) nodes = std::max(nodes, slice.node + 1);
  for (const Count& count : counts_) nodes = std::max(nodes, count.node + 1);
  for (std::size_t node = 0; node < nodes; ++node) {
    const std::string which = nodes > 1 ? "node " + std::to_string(node) + " " : "";
    writer.name_process(machine_of(node), which + "machine");
    writer.name_process(levels_of(node), which + "levels");
  }
  writer.name_process(kRequests, "requests");

  std::vector<Slice> slices = slices_;
  std::stable_sort(slices.begin(), slices.end(),
                   [](const Slice& a, const Slice& b) { return a.from_s < b.from_s; });
  std::vector<std::array<std::vector<double>, kResourceCount>> ends_s(nodes);  // end of each track's last
                                                                               // slice
  for (const Slice& slice : slices) {
    if (slice.to_s <= slice.from_s) continue;
    std::vector<double>& tracks = ends_s[slice.node][index(slice.resource)];
    // Times are printed with a resolution of a nanosecond.
    const auto free = std::find_if(tracks.begin(), tracks.end(),
                                   [&](double end_s) { return end_s <= slice.from_s + 1e-9; });
    const auto which = static_cast<int>(free - tracks.begin());
    const int track = (static_cast<int>(index(slice.resource)) + 1) * kTracksOfResource + which;
    const std::string_view resource = kResourceNames[index(slice.resource)];
    if (free == tracks.end()) {
      tracks.push_back(0);
      writer.name_track(machine_of(slice.node), track,
                        which == 0 ? std::string(resource)
                                   : std::string(resource) + " (" + std::to_string(which + 1) + ")");
    }
    const double from_s = std::max(slice.from_s, tracks[static_cast<std::size_t>(which)]);
    tracks[static_cast<std::size_t>(which)] = slice.to_s;
    writer.slice(machine_of(slice.node), track, resource, from_s, std::max(from_s, slice.to_s),
                 slice.busy_s / (slice.to_s - slice.from_s));
  }

  std::vector<std::array<double, kLevelCount>> last(nodes);
  for (auto& of_node : last) of_node.fill(std::nan(""));
  for (const Count& count : counts_) {
    double& value = last[count.node][static_cast<std::size_t>(count.level)];
    if (count.value == value) continue;
    value = count.value;
    writer.counter(levels_of(count.node), level_name(static_cast<std::size_t>(count.level)), count.now_s,
                   count.value);
  }

  for (std::size_t id = 0; id < turns.size(); ++id) write_turn(writer, id, turns[id]);
  return writer.take();
}

}  // namespace kvcap
