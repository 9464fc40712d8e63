#include "runtime/engine/data/pack_rows.h"

#include <algorithm>

#include "runtime/base/error.h"

namespace smelt {
namespace {

constexpr size_t kOpenRows = 64;

struct OpenRow {
  int64_t room;
  std::vector<int64_t> documents;
};

}  // namespace

std::span<const int64_t> PackedRows::operator[](int64_t row) const {
  const auto at = static_cast<size_t>(row);
  const int64_t begin = at == 0 ? 0 : ends_[at - 1];
  return std::span(documents_).subspan(static_cast<size_t>(begin), static_cast<size_t>(ends_[at] - begin));
}

void PackedRows::add(std::span<const int64_t> documents) {
  documents_.insert(documents_.end(), documents.begin(), documents.end());
  ends_.push_back(static_cast<int64_t>(documents_.size()));
}

PackedRows pack_rows(std::span<const int64_t> lengths, int64_t width) {
  PackedRows rows;
  std::vector<OpenRow> open;
  const auto close = [&](std::vector<OpenRow>::iterator row) {
    rows.add(row->documents);
    open.erase(row);
  };
  for (size_t document = 0; document < lengths.size(); ++document) {
    const int64_t length = lengths[document];
    if (length < 1) continue;
    if (length > width)
      fail("document {} is {} tokens long: longer than a row of {}", document, length, width);
    auto row = std::ranges::find_if(open, [&](const OpenRow& r) { return r.room >= length; });
    if (row == open.end()) {
      if (open.size() == kOpenRows) close(std::ranges::min_element(open, {}, &OpenRow::room));
      row = open.insert(open.end(), {width, {}});
    }
    row->room -= length;
    row->documents.push_back(static_cast<int64_t>(document));
    if (row->room == 0) close(row);
  }
  while (!open.empty()) close(open.begin());
  return rows;
}

}  // namespace smelt
