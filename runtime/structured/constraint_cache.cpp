#include "runtime/structured/constraint_cache.h"

#include <algorithm>

namespace smelt::structured {

std::shared_ptr<Constraint> ConstraintCache::get(const Specification& specification) {
  const std::string key = specification.key();
  {
    const std::lock_guard lock(mutex_);
    if (auto known = find(key)) return known;
  }
  auto constraint = std::make_shared<Constraint>(compile(specification), tokens_);
  const std::lock_guard lock(mutex_);
  ++compiled_;
  return store(key, std::move(constraint));
}

/// Returns a constraint and marks it as used; null if it is not in the cache.
std::shared_ptr<Constraint> ConstraintCache::find(const std::string& key) {
  const auto known = by_key_.find(key);
  if (known == by_key_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, known->second);
  return known->second->constraint;
}

/// If another thread has compiled the same specification, its constraint is used.
std::shared_ptr<Constraint> ConstraintCache::store(const std::string& key,
                                                   std::shared_ptr<Constraint> constraint) {
  if (auto known = find(key)) return known;
  entries_.push_front({key, constraint});
  by_key_[key] = entries_.begin();
  bound();
  return constraint;
}

/// Drops constraints until the others fit. Texts that are being generated keep theirs.
void ConstraintCache::bound() {
  size_t bytes = 0;
  for (const Entry& entry : entries_) bytes += 2 * entry.key.size() + entry.constraint->memory();
  while (!entries_.empty() && (entries_.size() > options_.most_entries || bytes > options_.most_bytes)) {
    const Entry& last = entries_.back();
    const size_t freed = 2 * last.key.size() + last.constraint->memory();
    bytes -= std::min(bytes, freed);
    by_key_.erase(last.key);
    entries_.pop_back();
  }
}

size_t ConstraintCache::entries() const {
  const std::lock_guard lock(mutex_);
  return entries_.size();
}

size_t ConstraintCache::compiled() const {
  const std::lock_guard lock(mutex_);
  return compiled_;
}

}  // namespace smelt::structured
