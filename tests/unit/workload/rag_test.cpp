// Generated questions with retrieved chunks against CacheBlend's description of its extended data sets.
#include "workload/generators/rag.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "workload/source.h"

namespace kvcap::rag_test {
namespace {

WorkloadOptions rag() {
  WorkloadOptions options;
  options.source.kind = "rag";
  return options;
}

using Chunks = std::vector<uint64_t>;

// In the order of the prompt.
Chunks chunks_of(const Workload& workload, std::size_t turn) {
  Chunks chunks;
  for (const Piece& piece : workload.pieces_of(turn)) chunks.push_back(piece.key);
  return chunks;
}

std::map<Chunks, int> counted_sets(const Workload& workload) {
  std::map<Chunks, int> sets;
  for (std::size_t i = 0; i < workload.turns.size(); ++i) {
    Chunks chunks = chunks_of(workload, i);
    std::sort(chunks.begin(), chunks.end());
    ++sets[chunks];
  }
  return sets;
}

double infinite_hit_rate(const Workload& workload) {
  std::set<uint64_t> seen;
  double hits = 0, all = 0;
  for (const Piece& piece : workload.pieces) {
    hits += !seen.insert(piece.key).second;
    all += 1;
  }
  return hits / all;
}

TEST(Rag, AsksSixThousandQueriesWithSixChunksOf512) {
  const Workload workload = make_workload(rag(), 1);
  ASSERT_EQ(workload.sessions.size(), 6000u);  // 1,500 with 3 more each
  ASSERT_EQ(workload.piece_begin.size(), 6001u);
  EXPECT_EQ(workload.piece_keys, PieceKeys::text);
  double question = 0, squares = 0;
  for (std::size_t i = 0; i < 6000; ++i) {
    ASSERT_EQ(workload.pieces_of(i).size(), 6u);
    for (const Piece& piece : workload.pieces_of(i)) {
      EXPECT_EQ(piece.tokens, 512u);
      EXPECT_LT(piece.key, 9000u);
    }
    const Chunks chunks = chunks_of(workload, i);
    EXPECT_EQ(std::set<uint64_t>(chunks.begin(), chunks.end()).size(), 6u);
    const double own = workload.turns[i].input_tokens - 6 * 512.0;
    question += own / 6000;
    squares += own * own / 6000;
    EXPECT_EQ(workload.turns[i].output_tokens, 8u);
  }
  EXPECT_NEAR(question, 32, 0.7);
  EXPECT_NEAR(std::sqrt(squares - question * question) / question, 0.3, 0.02);
  // 9,000 chunks of base queries leave 1/e of the corpus untouched, the 5,400 others exp(-0.6) of that: of
  // 36,000 retrieved chunks those are new that are touched at all.
  const double touched = 9000 * (1 - std::exp(-1.6));
  EXPECT_NEAR(infinite_hit_rate(workload), 1 - touched / 36000, 0.005);
}

TEST(Rag, ParaphrasesRetrieveTheSameChunksAsOftenAsTheyOverlap) {
  WorkloadOptions options = rag();
  options.source.overlap = 1;
  // Every set four times, in orders of their own: of 720 orders few coincide.
  const Workload same = make_workload(options, 1);
  const std::map<Chunks, int> sets = counted_sets(same);
  EXPECT_EQ(sets.size(), 1500u);
  for (const auto& [chunks, times] : sets) EXPECT_EQ(times, 4);
  std::set<Chunks> orders;
  for (std::size_t i = 0; i < same.turns.size(); ++i) orders.insert(chunks_of(same, i));
  EXPECT_NEAR(static_cast<double>(orders.size()), 6000 - 1500 * 6 / 720.0, 15);

  // With 0.5 a paraphrase keeps all six with probability 1/64.
  options.source.overlap = 0.5;
  EXPECT_NEAR(static_cast<double>(counted_sets(make_workload(options, 1)).size()), 6000 - 4500 / 64.0, 35);
  options.source.overlap = 0;
  EXPECT_EQ(counted_sets(make_workload(options, 1)).size(), 6000u);
}

TEST(Rag, RetrievesEachPlaceOfTheOrderAlike) {
  // Two chunks of two: either comes first half of the time.
  WorkloadOptions options = rag();
  options.source.chunks = 2;
  options.source.corpus_chunks = 2;
  const Workload workload = make_workload(options, 1);
  double first = 0;
  for (std::size_t i = 0; i < 6000; ++i) first += static_cast<double>(chunks_of(workload, i)[0]) / 6000;
  EXPECT_NEAR(first, 0.5, 0.035);
}

TEST(Rag, DrawsChunksByZipfsLaw) {
  WorkloadOptions options = rag();
  options.source.chunks = 1;
  options.source.corpus_chunks = 4;
  options.source.base_queries = 20000;
  options.source.paraphrases = 0;
  options.source.zipf_alpha = 1;
  const Workload workload = make_workload(options, 1);
  double share[4] = {};
  for (const Piece& piece : workload.pieces) share[piece.key] += 1.0 / 20000;
  // Weights 1, 1/2, 1/3, 1/4 have the sum 25/12.
  for (int k = 0; k < 4; ++k) EXPECT_NEAR(share[k], 12.0 / 25 / (k + 1), 0.017);
}

TEST(Rag, DrawsTheSameSessionWhateverTheirNumber) {
  WorkloadOptions options = rag();
  options.sessions = 10;
  const Workload few = make_workload(options, 3);
  options.sessions = 7000;
  const Workload many = make_workload(options, 3);
  for (std::size_t i = 0; i < 10; ++i) {
    EXPECT_EQ(chunks_of(few, i), chunks_of(many, i));
    EXPECT_EQ(few.turns[i].input_tokens, many.turns[i].input_tokens);
    EXPECT_EQ(few.turns[i].time_s, many.turns[i].time_s);
  }
  // After 6,000 the same queries come again, in another order.
  std::multiset<Chunks> first;
  for (std::size_t i = 0; i < 6000; ++i) first.insert(chunks_of(many, i));
  int same_place = 0;
  for (std::size_t i = 6000; i < 7000; ++i) {
    EXPECT_TRUE(first.contains(chunks_of(many, i)));
    same_place += chunks_of(many, i) == chunks_of(many, i - 6000);
  }
  EXPECT_LT(same_place, 20);
  EXPECT_NE(chunks_of(make_workload(options, 4), 0), chunks_of(few, 0));
}

TEST(Rag, ResamplingAndOptionsKeepPiecesWithTheirTurns) {
  WorkloadOptions options = rag();
  options.source.base_queries = 5;
  options.source.paraphrases = 0;
  options.source.chunks = 3;
  options.source.chunk_tokens = 100;
  options.source.corpus_chunks = 3;
  options.source.question_tokens = 10;
  EXPECT_EQ(rag_chunks(options.source), 3);
  Source source = generate_rag(options.source, {}, 1);
  ASSERT_EQ(source.sessions.size(), 5u);
  for (std::size_t i = 0; i < 5; ++i) source.turns[i].output_tokens = static_cast<uint32_t>(i) + 1;
  options.sessions = 12;
  const Workload workload = arrange(source, options, 1);
  ASSERT_EQ(workload.piece_begin.size(), 13u);
  for (std::size_t i = 0; i < 12; ++i) {
    const std::size_t line = workload.turns[i].output_tokens - 1;
    for (std::size_t j = 0; j < 3; ++j) {
      EXPECT_EQ(workload.pieces_of(i)[j].key, source.pieces[3 * line + j].key);
      EXPECT_EQ(workload.pieces_of(i)[j].tokens, 100u);
    }
  }
}

TEST(Rag, SaysWhereItComesFrom) {
  EXPECT_EQ(
      make_workload(rag(), 1).notes,
      (std::vector<std::string>{
          "questions on 9000 chunks are drawn as CacheBlend describes them (traces/rag.json): 1500 base "
          "queries with 3 paraphrases each, overlap 0.8, popularity Zipf(0)"}));
}

}  // namespace
}  // namespace kvcap::rag_test
