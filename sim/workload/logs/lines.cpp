#include "workload/logs/lines.h"

#include <vector>

#include "base/input_error.h"
#include "workload/logs/gz_file.h"

namespace kvcap {
namespace {

constexpr std::size_t kLineBufferBytes = 1 << 18;
// Far above any session; a file without line ends is not one of ours.
constexpr std::size_t kLongestLineBytes = 64 << 20;

}  // namespace

struct LineReader::State {
  std::string path;
  GzFile file;
  std::vector<char> buffer;
  std::string_view unread;  // part of buffer
  std::string line;
  int64_t number = 0;

  explicit State(const std::string& name) : path(name), file(name), buffer(kLineBufferBytes) {}

  // Takes the byte order mark off the first line.
  void begin() {
    if (line.starts_with("\xff\xfe") || line.starts_with("\xfe\xff")) {
      throw InputError(path + ": found UTF-16, allowed: UTF-8 (iconv -f UTF-16 -t UTF-8)");
    }
    constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
    if (line.starts_with(kByteOrderMark)) line.erase(0, kByteOrderMark.size());
  }
  // False at the end of the file.
  bool refill() {
    unread = {buffer.data(), file.read(buffer)};
    return !unread.empty();
  }
};

LineReader::LineReader(const std::string& path) : state_(std::make_unique<State>(path)) {}

LineReader::~LineReader() = default;

int64_t LineReader::line_number() const { return state_->number; }

bool LineReader::next(std::string_view& line) {
  State& state = *state_;
  state.line.clear();
  bool any = false;
  while (!state.unread.empty() || state.refill()) {
    any = true;
    const std::size_t end = state.unread.find('\n');
    state.line += state.unread.substr(0, end);
    if (state.line.size() > kLongestLineBytes) {
      throw InputError(state.path + ":" + std::to_string(state.number + 1) + ": line is longer than 64 MiB");
    }
    state.unread = end == std::string_view::npos ? std::string_view() : state.unread.substr(end + 1);
    if (end != std::string_view::npos) break;
  }
  if (!any) return false;
  if (++state.number == 1) state.begin();
  if (state.line.ends_with('\r')) state.line.pop_back();
  line = state.line;
  return true;
}

}  // namespace kvcap
