#include "base/places.h"

#include "base/check.h"

namespace kvcap {
namespace {

bool is_at_or_below(std::string_view path, std::string_view root) {
  if (root.empty()) return true;
  return path.starts_with(root) && (path.size() == root.size() || path[root.size()] == '.');
}

}  // namespace

std::string below(std::string_view path, std::string_view name) {
  if (path.empty()) return std::string(name);
  return std::string(path) + "." + std::string(name);
}

void Places::forget(std::string_view path) {
  std::erase_if(origins_, [path](const Origin& one) { return is_at_or_below(one.path, path); });
}

void Places::add_file(std::string_view path, const std::string& file, const std::filesystem::path& folder,
                      bool is_reference) {
  forget(path);
  origins_.push_back({std::string(path), file, folder, is_reference, "", ""});
}

void Places::add_override(std::string_view path, std::string_view created, const std::string& place,
                          const std::filesystem::path& folder, const std::string& text) {
  forget(created);
  origins_.push_back({std::string(created), place, folder, false, std::string(path), text});
}

const std::string* Places::text(std::string_view path) const {
  const Origin& from = origin(path);
  return from.overridden == path && !path.empty() ? &from.text : nullptr;
}

const Places::Origin& Places::origin(std::string_view path) const {
  const Origin* best = nullptr;
  for (const Origin& one : origins_) {
    if (is_at_or_below(path, one.path) && (!best || one.path.size() >= best->path.size())) best = &one;
  }
  KVCAP_CHECK(best != nullptr);
  return *best;
}

std::string Places::at(std::string_view path) const {
  const Origin& from = origin(path);
  const bool is_override = !from.overridden.empty();
  if (path == (is_override ? from.overridden : from.path)) return from.place;
  // Messages give a field's path within its own file; a scenario's path is "".
  if (!is_override && !from.path.empty()) path.remove_prefix(from.path.size() + 1);
  return from.place + ": " + std::string(path);
}

std::filesystem::path Places::folder(std::string_view path) const { return origin(path).folder; }

bool Places::is_override(std::string_view path) const { return !origin(path).overridden.empty(); }

bool Places::is_reference(std::string_view path) const { return origin(path).is_reference; }

}  // namespace kvcap
