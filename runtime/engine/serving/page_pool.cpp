#include "runtime/engine/serving/page_pool.h"

namespace smelt {

PageCounts& PageCounts::operator+=(const PageCounts& other) {
  total += other.total, used += other.used, shared += other.shared;
  kept += other.kept, reserved += other.reserved, found += other.found;
  return *this;
}

PagePool::PagePool(size_t pages) : users_(pages), kept_(pages), index_(pages) {
  free_.reserve(pages);
  for (size_t page = pages; page-- > 0;) free_.push_back(static_cast<int32_t>(page));
  counts_.total = pages;
}

int32_t PagePool::take() {
  int32_t page = first_;
  if (!free_.empty()) {
    page = free_.back();
    free_.pop_back();
  } else {
    remove_kept(page);
    index_.remove(page);
  }
  users_[static_cast<size_t>(page)] = 1;
  ++counts_.used, --counts_.reserved;
  return page;
}

void PagePool::share(int32_t page) {
  if (users_[static_cast<size_t>(page)] == 0) remove_kept(page), ++counts_.used;
  join(page);
  ++counts_.found;
}

void PagePool::join(int32_t page) {
  int32_t& users = users_[static_cast<size_t>(page)];
  if (users == 1) ++counts_.shared;
  ++users;
}

void PagePool::release(int32_t page) {
  int32_t& users = users_[static_cast<size_t>(page)];
  if (users == 2) --counts_.shared;
  if (--users > 0) return;
  --counts_.used;
  index_.has(page) ? append_kept(page) : free_.push_back(page);
}

PagePool::Prefix PagePool::note(int32_t page, const Prefix& before, std::span<const int32_t> tokens) {
  if (const auto twin = index_.find(before, tokens)) return index_.behind(*twin);
  index_.add(page, before, tokens);
  return index_.behind(page);
}

bool PagePool::drop(int32_t page) {
  const bool is_alone = users_[static_cast<size_t>(page)] == 1;
  if (is_alone) index_.remove(page);
  return is_alone;
}

void PagePool::forget() {
  for (size_t page = 0; page < users_.size(); ++page) {
    const auto number = static_cast<int32_t>(page);
    if (is_kept(number)) remove_kept(number), free_.push_back(number);
    index_.remove(number);
  }
}

void PagePool::append_kept(int32_t page) {
  kept_[static_cast<size_t>(page)] = {last_, -1};
  (last_ < 0 ? first_ : kept_[static_cast<size_t>(last_)].behind) = page;
  last_ = page;
  ++counts_.kept;
}

void PagePool::remove_kept(int32_t page) {
  const Links links = kept_[static_cast<size_t>(page)];
  (links.before < 0 ? first_ : kept_[static_cast<size_t>(links.before)].behind) = links.behind;
  (links.behind < 0 ? last_ : kept_[static_cast<size_t>(links.behind)].before) = links.before;
  --counts_.kept;
}

}  // namespace smelt
