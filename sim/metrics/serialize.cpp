#include "metrics/serialize.h"

#include <cstring>
#include <stdexcept>
#include <type_traits>

namespace kvcap {
namespace {

// The first bytes of a message: constants of the memory layout, on which both ends must agree.
struct Preamble {
  char magic[8] = {'k', 'v', 'c', 'a', 'p', 'r', 'u', 'n'};
  uint64_t turn_record_bytes = sizeof(TurnRecord);
  uint64_t metric_kinds = std::variant_size_v<MetricValue>;
};

class Writer {
 public:
  template <typename T>
  requires std::is_trivially_copyable_v<T>
  void put(const T& value) { bytes_.append(reinterpret_cast<const char*>(&value), sizeof value); }
  void put(const std::string& text) {
    put(uint64_t{text.size()});
    bytes_ += text;
  }
  template <typename T>
  requires std::is_trivially_copyable_v<T>
  void put(const std::vector<T>& values) {
    put(uint64_t{values.size()});
    bytes_.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
  }
  void put(const std::vector<std::string>& texts) { put_each(texts); }
  void put(const NamedSeries& series) { put_each(series); }
  void put(const std::vector<Metric>& metrics) { put_each(metrics); }
  void put(const std::vector<Interval>& intervals) { put_each(intervals); }

  std::string take() { return std::move(bytes_); }
  void reserve(std::size_t size) { bytes_.reserve(size); }

 private:
  template <typename T>
  void put_each(const std::vector<T>& items) {
    put(uint64_t{items.size()});
    for (const T& item : items) put(item);
  }
  void put(const std::pair<std::string, std::vector<double>>& entry) {
    put(entry.first);
    put(entry.second);
  }
  void put(const Metric& metric) {
    put(metric.name);
    put(uint64_t{metric.value.index()});
    std::visit([this](const auto& value) { put(value); }, metric.value);
  }
  void put(const Interval& interval) {
    put(interval.name);
    put(interval.mean);
    put(interval.half_width);
    put(interval.method);
    put(interval.n);
  }

  std::string bytes_;
};

class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}

  template <typename T>
  requires std::is_trivially_copyable_v<T>
  void get(T& value) { std::memcpy(&value, take(sizeof value).data(), sizeof value); }
  void get(std::string& text) { text = take(size(1)); }
  template <typename T>
  requires std::is_trivially_copyable_v<T>
  void get(std::vector<T>& values) {
    values.resize(size(sizeof(T)));
    const std::size_t length = values.size() * sizeof(T);
    if (length > 0) std::memcpy(values.data(), take(length).data(), length);
  }
  void get(std::vector<std::string>& texts) { get_each(texts); }
  void get(NamedSeries& series) { get_each(series); }
  void get(std::vector<Metric>& metrics) { get_each(metrics); }
  void get(std::vector<Interval>& intervals) { get_each(intervals); }

  void end() const {
    if (!rest_.empty()) throw std::runtime_error("a worker's result has bytes after its end");
  }

 private:
  std::string_view take(std::size_t count) {
    if (count > rest_.size()) throw std::runtime_error("a worker's result ends early");
    const std::string_view head = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return head;
  }
  // Reads the number of items of at least `item_bytes` each. Throws before the caller allocates memory for
  // more items than the remaining bytes can hold.
  std::size_t size(std::size_t item_bytes) {
    uint64_t count = 0;
    get(count);
    if (count > rest_.size() / item_bytes) throw std::runtime_error("a worker's result ends early");
    return count;
  }
  template <typename T>
  void get_each(std::vector<T>& items) {
    items.resize(size(1));
    for (T& item : items) get(item);
  }
  void get(std::pair<std::string, std::vector<double>>& entry) {
    get(entry.first);
    get(entry.second);
  }
  template <typename T>
  void get_value(MetricValue& value) {
    T held{};
    get(held);
    value = std::move(held);
  }
  void get(Metric& metric) {
    get(metric.name);
    uint64_t kind = 0;
    get(kind);
    switch (kind) {
      case 0:
        return get_value<double>(metric.value);
      case 1:
        return get_value<int64_t>(metric.value);
      case 2:
        return get_value<bool>(metric.value);
      case 3:
        return get_value<std::string>(metric.value);
      default:
        throw std::runtime_error("a worker's result has a metric of an unknown kind");
    }
  }
  void get(Interval& interval) {
    get(interval.name);
    get(interval.mean);
    get(interval.half_width);
    get(interval.method);
    get(interval.n);
  }

  std::string_view rest_;
};

// Visits the fields in the order of the bytes, for writing and reading.
template <typename Visit, typename Result>
void each_field(Result& result, Visit visit) {
  visit(result.scenario_name);
  visit(result.scenario_json);
  visit(result.policy);
  visit(result.metrics);
  visit(result.distributions);
  visit(result.series);
  visit(result.by_history);
  visit(result.intervals);
  visit(result.samples);
  visit(result.notes);
  visit(result.policy_summary);
  visit(result.is_bound);
  visit(result.slo_ttft_ms);
  visit(result.slo_tpot_ms);
  visit(result.quality_note);
  visit(result.hardware_provenance);
  visit(result.session_count);
  visit(result.turn_count);
  visit(result.turns);
}

}  // namespace

std::string serialize(const RunResult& result) {
  Writer writer;
  writer.reserve(result.turns.size() * sizeof(TurnRecord) + result.scenario_json.size() + (1 << 16));
  writer.put(Preamble{});
  each_field(result, [&](const auto& field) { writer.put(field); });
  return writer.take();
}

RunResult deserialize(std::string_view bytes) {
  Reader reader(bytes);
  Preamble found;
  reader.get(found);
  const Preamble expected;
  if (std::memcmp(&found, &expected, sizeof expected) != 0)
    throw std::runtime_error("a worker's result is not from this program");
  RunResult result;
  each_field(result, [&](auto& field) { reader.get(field); });
  reader.end();
  return result;
}

}  // namespace kvcap
