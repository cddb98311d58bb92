// Generates retrieval-augmented questions as in CacheBlend's extended data sets. Base queries retrieve chunks
// of a corpus; each recurs as paraphrases, which retrieve mostly the same chunks. A session is one query: its
// chunks, in an order of its own, and then the question.
#include "workload/generators/rag.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/check.h"
#include "base/random.h"
#include "workload/generators/draws.h"
#include "workload/generators/tables.h"
#include "workload/source.h"

namespace kvcap {
namespace {

constexpr std::string_view kRagTable = "traces/rag.json";

// Option values. An option that is not given takes its default from traces/rag.json.
struct Settings {
  std::size_t base_queries = 0, paraphrases = 0;
  std::size_t chunks = 0;  // per query
  std::size_t corpus_chunks = 0;
  uint32_t chunk_tokens = 0;
  double overlap = 0, zipf_alpha = 0;
  double mean_question_tokens = 0, question_cv = 0;
  uint32_t output_tokens = 0;

  std::size_t queries() const { return base_queries * (paraphrases + 1); }
};

Settings settings_of(const SourceOptions& options) {
  const Table table(kRagTable);
  const auto count = [&table](const std::optional<int64_t>& option, const char* key) {
    return option ? static_cast<std::size_t>(*option) : static_cast<std::size_t>(table.number(key));
  };
  const auto number = [&table](const std::optional<double>& option, const char* key) {
    return option ? *option : table.number(key);
  };
  Settings settings;
  settings.base_queries = count(options.base_queries, "base_queries");
  settings.paraphrases = count(options.paraphrases, "paraphrases");
  settings.chunks = count(options.chunks, "chunks");
  settings.chunk_tokens = static_cast<uint32_t>(count(options.chunk_tokens, "chunk_tokens"));
  settings.overlap = number(options.overlap, "overlap");
  settings.zipf_alpha = number(options.zipf_alpha, "zipf_alpha");
  settings.mean_question_tokens = number(options.question_tokens, "mean_question_tokens");
  table.get("question_cv", settings.question_cv);
  table.get("output_tokens", settings.output_tokens);
  const std::size_t retrieved = settings.base_queries * settings.chunks;
  settings.corpus_chunks =
      options.corpus_chunks ? static_cast<std::size_t>(*options.corpus_chunks) : retrieved;
  return settings;
}

// Returns 0 to count - 1 in random order (Fisher-Yates).
std::vector<std::size_t> shuffled(std::size_t count, const RandomStream& stream, uint64_t which) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (std::size_t i = count; i > 1; --i) {
    const auto drawn = static_cast<std::size_t>(stream.uniform(which, i) * static_cast<double>(i));
    std::swap(order[i - 1], order[drawn]);
  }
  return order;
}

class Retrieval {
 public:
  Retrieval(const Settings& settings, uint64_t seed)
      : settings_(settings),
        popularity_(zipf_weights(settings.zipf_alpha, settings.corpus_chunks)),
        base_(seed, "rag.base"),
        kept_(seed, "rag.kept"),
        other_(seed, "rag.other"),
        order_(seed, "rag.order") {}

  // Returns the chunks of paraphrase `variant` of a base query; variant 0 is the base query itself.
  std::vector<std::size_t> of(std::size_t base, std::size_t variant) const {
    std::vector<std::size_t> chunks;
    for (uint64_t j = 0; j < settings_.chunks; ++j) chunks.push_back(absent(chunks, base_.uniform(base, j)));
    const std::size_t query = base * (settings_.paraphrases + 1) + variant;
    const bool others = variant > 0 && settings_.corpus_chunks > settings_.chunks;
    for (uint64_t j = 0; others && j < chunks.size(); ++j) {
      if (kept_.uniform(query, j) > settings_.overlap) chunks[j] = absent(chunks, other_.uniform(query, j));
    }
    std::vector<std::size_t> in_order;
    for (std::size_t j : shuffled(chunks.size(), order_, query)) in_order.push_back(chunks[j]);
    return in_order;
  }

 private:
  // Returns the drawn chunk, or the next one that is not among `chunks`.
  std::size_t absent(const std::vector<std::size_t>& chunks, double uniform) const {
    std::size_t chunk = popularity_.at(uniform);
    while (std::find(chunks.begin(), chunks.end(), chunk) != chunks.end()) {
      chunk = (chunk + 1) % settings_.corpus_chunks;
    }
    return chunk;
  }

  const Settings& settings_;
  Weighted popularity_;
  RandomStream base_, kept_, other_, order_;
};

std::string note_on(const Settings& settings) {
  char text[240];
  std::snprintf(
      text, sizeof text,
      "questions on %zu chunks are drawn as CacheBlend describes them (%s): %zu base queries with %zu "
      "paraphrases each, overlap %g, popularity Zipf(%g)",
      settings.corpus_chunks, std::string(kRagTable).c_str(), settings.base_queries, settings.paraphrases,
      settings.overlap, settings.zipf_alpha);
  return text;
}

}  // namespace

int64_t rag_chunks(const SourceOptions& options) { return static_cast<int64_t>(settings_of(options).chunks); }

Source generate_rag(const SourceOptions& options, std::optional<int64_t> count, uint64_t seed) {
  const Settings settings = settings_of(options);
  KVCAP_CHECK(settings.corpus_chunks >= settings.chunks);
  const Retrieval retrieval(settings, seed);
  const RandomStream round_of(seed, "rag.round"), question(seed, "rag.question");
  const std::size_t sessions = count ? static_cast<std::size_t>(*count) : settings.queries();
  Source source;
  source.piece_keys = PieceKeys::text;
  std::vector<std::size_t> round;  // order of all queries, drawn anew for each round
  std::vector<Piece> pieces;
  for (std::size_t i = 0; i < sessions; ++i) {
    const std::size_t place = i % settings.queries();
    if (place == 0) round = shuffled(settings.queries(), round_of, i / settings.queries());
    const std::size_t base = round[place] / (settings.paraphrases + 1);
    const std::size_t variant = round[place] % (settings.paraphrases + 1);
    pieces.clear();
    for (std::size_t chunk : retrieval.of(base, variant)) pieces.push_back({chunk, settings.chunk_tokens});
    const uint32_t own =
        lognormal_tokens(settings.mean_question_tokens, settings.question_cv, question.normal(round[place]));
    const auto context = static_cast<uint32_t>(settings.chunks) * settings.chunk_tokens;
    source.add(Turn{context + own, settings.output_tokens, NAN}, pieces);
  }
  source.notes.push_back(note_on(settings));
  return source;
}

}  // namespace kvcap
