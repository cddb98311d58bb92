#include "workload/lines.h"

#include <zlib.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "base/input_error.h"

namespace kvcap {
namespace {

constexpr std::size_t kBufferBytes = 1 << 18;
// Far above any session; a file without line ends is not one of ours.
constexpr std::size_t kLongestLineBytes = 64 << 20;

struct CloseGz {
  void operator()(gzFile_s* file) const { gzclose(file); }
};

}  // namespace

struct LineReader::State {
  std::string path;
  std::unique_ptr<gzFile_s, CloseGz> file;
  std::vector<char> buffer;
  std::string_view unread;  // part of buffer
  std::string line;
  int64_t number = 0;

  // False at the end of the file.
  bool refill() {
    const int bytes = gzread(file.get(), buffer.data(), static_cast<unsigned>(buffer.size()));
    int code = Z_OK;
    std::string reason = gzerror(file.get(), &code);  // "path: reason"
    if (bytes < 0 || (bytes == 0 && code != Z_OK && code != Z_STREAM_END)) {
      if (code == Z_ERRNO) reason = std::strerror(errno);
      if (reason.starts_with(path + ": ")) reason.erase(0, path.size() + 2);
      throw InputError(path + ": cannot be read: " + reason);
    }
    unread = {buffer.data(), static_cast<std::size_t>(bytes)};
    return bytes > 0;
  }
};

LineReader::LineReader(const std::string& path) : state_(std::make_unique<State>()) {
  state_->path = path;
  state_->file.reset(gzopen(path.c_str(), "rb"));
  if (!state_->file) throw InputError(path + ": cannot be read: " + std::strerror(errno));
  state_->buffer.resize(kBufferBytes);
}

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
  ++state.number;
  if (state.line.ends_with('\r')) state.line.pop_back();
  line = state.line;
  return true;
}

}  // namespace kvcap
