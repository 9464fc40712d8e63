#include "runtime/engine/serving/page_pool.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace smelt {
namespace {

using Tokens = std::vector<int32_t>;

Tokens page_of(int32_t first) {
  Tokens tokens(kPageTokens, first);
  tokens[5] = 7;
  return tokens;
}

TEST(PagePool, FindsTheSameTokensBehindTheSamePrefixAlone) {
  PagePool pool(4);
  pool.reserve(4);
  const int32_t first = pool.take(), second = pool.take();
  const auto one = pool.note(first, {}, page_of(1)), two = pool.note(second, one, page_of(2));
  EXPECT_EQ(pool.find({}, page_of(1)), first);
  EXPECT_EQ(pool.find(one, page_of(2)), second);
  EXPECT_FALSE(pool.find({}, page_of(2)));
  EXPECT_FALSE(pool.find(two, page_of(2)));
  EXPECT_FALSE(pool.find(one, page_of(3)));
  const int32_t twin = pool.take();
  EXPECT_EQ(pool.note(twin, {}, page_of(1)).last, one.last) << "whoever has read the same goes on from it";
  EXPECT_EQ(pool.find({}, page_of(1)), first);
}

TEST(PagePool, DropsPagesOfASingleRow) {
  PagePool pool(3);
  pool.reserve(2);
  const int32_t shared = pool.take(), own = pool.take();
  const auto one = pool.note(shared, {}, page_of(1));
  pool.note(own, one, page_of(2));
  pool.share(shared);
  EXPECT_FALSE(pool.drop(shared));
  EXPECT_TRUE(pool.drop(own));
  EXPECT_EQ(pool.find({}, page_of(1)), shared);
  EXPECT_FALSE(pool.find(one, page_of(2)));
  pool.release(own);
  EXPECT_EQ(pool.counts().kept, 0U) << "it is free";
}

TEST(PagePool, FindsPagesOfTheSameRootAlone) {
  PagePool pool(4);
  pool.reserve(2);
  const int32_t plain = pool.take(), adapted = pool.take();
  const auto end = pool.note(plain, PagePool::root(0), page_of(1));
  pool.note(adapted, PagePool::root(end.last), page_of(1));
  EXPECT_EQ(pool.find({}, page_of(1)), plain);
  EXPECT_EQ(pool.find(PagePool::root(end.last), page_of(1)), adapted);
  EXPECT_FALSE(pool.find(PagePool::root(end.last + 1), page_of(1)));
  EXPECT_FALSE(pool.find(end, page_of(1))) << "a root is no page";
}

TEST(PagePool, CountsCopiesOfRowsAsUsers) {
  PagePool pool(2);
  pool.reserve(1);
  const int32_t page = pool.take();
  pool.join(page);
  EXPECT_EQ(pool.counts().shared, 1U);
  EXPECT_EQ(pool.counts().found, 0U);
  pool.release(page);
  EXPECT_EQ(pool.counts().shared, 0U);
  EXPECT_EQ(pool.counts().used, 1U);
  pool.release(page);
  EXPECT_EQ(pool.available(), 2U);
}

/// Equal hashes do not make pages equal: the prefix of one is another one's, with its hash.
TEST(PagePool, ComparesWhatHashesSay) {
  PagePool pool(2);
  pool.reserve(2);
  const auto one = pool.note(pool.take(), {}, page_of(1));
  pool.note(pool.take(), one, page_of(2));
  EXPECT_FALSE(pool.find({one.hash, one.last + 5}, page_of(2)));
}

TEST(PagePool, KeepsTheBeginningsOfTextsLongest) {
  PagePool pool(3);
  pool.reserve(3);
  PagePool::Prefix prefix;
  std::vector<int32_t> pages;
  for (int32_t i = 0; i < 3; ++i) {
    pages.push_back(pool.take());
    prefix = pool.note(pages.back(), prefix, page_of(i));
  }
  for (int i = 3; i-- > 0;) pool.release(pages[static_cast<size_t>(i)]);
  EXPECT_EQ(pool.counts().kept, 3U);
  EXPECT_EQ(pool.available(), 3U);
  pool.reserve(2);
  EXPECT_EQ(pool.take(), pages[2]);
  EXPECT_EQ(pool.take(), pages[1]);
  EXPECT_EQ(pool.find({}, page_of(0)), pages[0]);
  pool.share(pages[0]);
  EXPECT_EQ(pool.counts().kept, 0U);
  EXPECT_EQ(pool.available(), 0U);
}

/// Rows that come and go at random, against a list of what each of them has.
TEST(PagePool, CountsAreThoseOfItsRows) {
  std::mt19937 random(3);
  PagePool pool(20);
  std::vector<std::vector<int32_t>> rows;
  for (int turn = 0; turn < 3000; ++turn) {
    if (random() % 2 == 0 && !rows.empty()) {
      std::swap(rows[random() % rows.size()], rows.back());
      while (!rows.back().empty()) pool.release(rows.back().back()), rows.back().pop_back();
      rows.pop_back();
    } else if (const size_t wanted = 1 + random() % 5; wanted + 5 <= pool.available()) {
      auto& row = rows.emplace_back();
      PagePool::Prefix prefix;
      for (size_t i = 0; i < wanted; ++i) {
        const Tokens tokens = page_of(static_cast<int32_t>(random() % 2));
        if (const auto page = pool.find(prefix, tokens)) {
          pool.share(*page);
          row.push_back(*page);
        } else {
          pool.reserve(1);
          row.push_back(pool.take());
          pool.note(row.back(), prefix, tokens);
        }
        prefix = pool.behind(row.back());
      }
    }
    std::map<int32_t, size_t> users;
    for (const auto& row : rows)
      for (const int32_t page : row) ++users[page];
    const auto shared = std::ranges::count_if(users, [](const auto& each) { return each.second > 1; });
    const PageCounts counts = pool.counts();
    ASSERT_EQ(counts.used, users.size());
    ASSERT_EQ(counts.shared, static_cast<size_t>(shared));
    ASSERT_EQ(counts.reserved, 0U);
    ASSERT_EQ(pool.available(), 20 - users.size());
  }
  for (auto& row : rows)
    while (!row.empty()) pool.release(row.back()), row.pop_back();
  EXPECT_EQ(pool.counts().used + pool.counts().shared, 0U);
  EXPECT_GT(pool.counts().found, 500U);
  pool.forget();
  EXPECT_EQ(pool.counts().kept, 0U);
  EXPECT_EQ(pool.available(), 20U);
}

}  // namespace
}  // namespace smelt
