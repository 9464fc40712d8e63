// Stress test of a ContinuousBatch with caches in pages: many requests are submitted at random times, and
// some are cancelled.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>

#include "runtime/engine/serving/continuous_batch.h"
#include "tests/runtime/engine/serving/random_requests.h"

namespace smelt {

using Id = ContinuousBatch::Id;

/// Expects that no page is used, shared or reserved.
inline void expect_nothing_held(const ContinuousBatch& batch) {
  const PageCounts pages = batch.counts().pages;
  EXPECT_EQ(pages.used, 0U);
  EXPECT_EQ(pages.shared, 0U);
  EXPECT_EQ(pages.reserved, 0U);
}

/// Returns a random request, whose prompt begins with one of four texts, so that requests can share pages.
inline Request next_request(RandomRequests& random) {
  Request request = random.next(20);
  const int64_t text = random.number(4);
  Tokens begin(static_cast<size_t>(16 * text + random.number(10)), static_cast<int32_t>(text));
  request.prompt.insert(request.prompt.begin(), begin.begin(), begin.end());
  return request;
}

/// Returns a copy of a request, with a constrained text of its own.
inline Request copy_of(const Request& request) {
  Request copy = request;
  if (request.constrained)
    copy.constrained = std::make_shared<structured::ConstrainedText>(*request.constrained);
  return copy;
}

/// Runs `count` random requests to their ends. Members: the requests, their tokens and ends, and the largest
/// number of shared pages.
struct Crowd {
  std::map<Id, Request> requests;
  std::map<Id, Tokens> found;
  std::map<Id, Finish> ends;
  uint64_t most_shared = 0;

  /// `change` is called with each request before it is submitted.
  Crowd(
      ContinuousBatch& batch, size_t count, uint32_t seed,
      const std::function<void(Request&)>& change = [](Request&) {}) {
    RandomRequests random(seed);
    while (ends.size() < count) {
      for (int64_t i = random.number(3); i-- > 0 && requests.size() < count;) {
        Request request = next_request(random);
        change(request);
        const Request kept = copy_of(request);
        requests[batch.submit(std::move(request))] = kept;
      }
      if (random.number(9) == 0 && !requests.empty()) batch.cancel(requests.rbegin()->first);
      batch.step();
      most_shared = std::max<uint64_t>(most_shared, batch.counts().pages.shared);
      for (const auto& [id, request] : requests)
        if (!ends.contains(id)) take(batch, id);
    }
  }

 private:
  void take(ContinuousBatch& batch, Id id) {
    const Progress progress = batch.poll(id);
    for (const int32_t token : ids_of(progress)) found[id].push_back(token);
    if (progress.finish != Finish::none) ends[id] = progress.finish;
  }
};

/// Expects that each request got the tokens that it gets alone; a cancelled request may have fewer.
inline void expect_alone(Crowd& crowd) {
  for (const auto& [id, request] : crowd.requests) {
    Tokens expected = alone(request);
    if (crowd.ends[id] == Finish::cancelled) expected.resize(crowd.found[id].size());
    EXPECT_EQ(crowd.found[id], expected) << id;
  }
}

}  // namespace smelt
