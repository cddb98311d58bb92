#include "workload/logs/gz_file.h"

#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <new>
#include <system_error>

#include "base/check.h"
#include "base/files.h"
#include "base/input_error.h"
#include "base/text/progress.h"

namespace kvcap {
namespace {

constexpr std::size_t kGzBufferBytes = 1 << 18;

}  // namespace

struct GzFile::State {
  struct CloseGz {
    void operator()(gzFile_s* file) const { gzclose(file); }
  };

  std::string path;
  std::unique_ptr<gzFile_s, CloseGz> file;
  Progress progress;
  double bytes = 0;  // of a file as it is stored; 0: a pipe, whose end is not known
};

GzFile::GzFile(const std::string& path)
    : state_(
          new State{path, nullptr, Progress("reading " + std::filesystem::path(path).filename().string())}) {
  state_->file.reset(gzdopen(open_input(path), "rb"));
  if (!state_->file) throw std::bad_alloc();
  std::error_code none;
  if (std::filesystem::is_regular_file(path, none)) {
    state_->bytes = static_cast<double>(std::filesystem::file_size(path, none));
  }
}

GzFile::~GzFile() = default;

std::size_t GzFile::read(std::span<char> buffer) {
  const std::string& path = state_->path;
  const int bytes = gzread(state_->file.get(), buffer.data(), static_cast<unsigned>(buffer.size()));
  int code = Z_OK;
  std::string reason = gzerror(state_->file.get(), &code);  // "<fd:3>: reason"
  if (bytes < 0 || (bytes == 0 && code != Z_OK && code != Z_STREAM_END)) {
    if (code == Z_ERRNO) reason = std::strerror(errno);
    if (reason.starts_with("<fd:")) reason.erase(0, reason.find(' ') + 1);
    throw InputError(path + ": cannot be read: " + reason);
  }
  if (state_->bytes > 0)
    state_->progress.show(static_cast<double>(gzoffset(state_->file.get())) / state_->bytes);
  return static_cast<std::size_t>(bytes);
}

GzStreambuf::GzStreambuf(const std::string& path) : path_(path), file_(path), buffer_(kGzBufferBytes) {}

void GzStreambuf::follow_strings(std::string_view part) {
  constexpr std::size_t kLongestBytes = 64 << 20;
  std::size_t quote = part.rfind('"');
  const auto is_escaped = [part](std::size_t at) {
    const std::size_t before = part.substr(0, at).find_last_not_of('\\');
    return (at - (before == std::string_view::npos ? 0 : before + 1)) % 2 == 1;
  };
  // The first byte may have been escaped by the part before.
  while (quote != std::string_view::npos && quote > 0 && is_escaped(quote))
    quote = part.rfind('"', quote - 1);
  const bool found = quote != std::string_view::npos && quote > 0;
  since_quote_ = found ? part.size() - quote : since_quote_ + part.size();
  if (since_quote_ > kLongestBytes) throw InputError(path_ + ": a string is longer than 64 MiB");
}

int64_t GzStreambuf::line_number() const { return 1 + lines_before_ + std::count(eback(), gptr(), '\n'); }

GzStreambuf::int_type GzStreambuf::underflow() {
  lines_before_ += std::count(eback(), egptr(), '\n');
  const std::size_t bytes = file_.read(buffer_);
  follow_strings({buffer_.data(), bytes});
  setg(buffer_.data(), buffer_.data(), buffer_.data() + bytes);
  return bytes == 0 ? traits_type::eof() : traits_type::to_int_type(*gptr());
}

std::string gzip(std::string_view text) {
  constexpr int kWindowBits = 15 + 16;  // 16: with gzip's header
  constexpr int kMemoryLevel = 8;       // zlib's default
  z_stream stream{};
  KVCAP_CHECK(deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kWindowBits, kMemoryLevel,
                           Z_DEFAULT_STRATEGY) == Z_OK);
  std::string packed;
  std::vector<char> buffer(kGzBufferBytes);
  constexpr std::size_t kPieceBytes = 1 << 30;  // zlib counts in 32 bits
  int code = Z_OK;
  do {
    if (stream.avail_in == 0) {
      const std::string_view piece = text.substr(0, kPieceBytes);
      text.remove_prefix(piece.size());
      stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(piece.data()));
      stream.avail_in = static_cast<uInt>(piece.size());
    }
    stream.next_out = reinterpret_cast<Bytef*>(buffer.data());
    stream.avail_out = static_cast<uInt>(buffer.size());
    code = deflate(&stream, text.empty() ? Z_FINISH : Z_NO_FLUSH);
    packed.append(buffer.data(), buffer.size() - stream.avail_out);
  } while (code != Z_STREAM_END);
  deflateEnd(&stream);
  return packed;
}

}  // namespace kvcap
