// Parquet: row groups of columns of pages. Rows are assembled from the levels of their leaves: a structure is
// an object, a list is an array.
#include <algorithm>
#include <map>
#include <memory>

#include "frontend/data/byte_source.h"
#include "frontend/data/parquet_column.h"
#include "frontend/data/readers.h"
#include "runtime/system/file.h"
#include "runtime/tokenizers/unicode/utf8.h"

namespace smelt {
namespace {

using parquet::ParquetColumn;
using parquet::Repetition;
using parquet::SchemaNode;

class ParquetRows : public RowReader {
 public:
  ParquetRows(const std::filesystem::path& path, const std::vector<ColumnName>& columns)
      : RowReader(path.string()),
        spooled_(path),
        file_(spooled_.path()),
        metadata_(parquet::read_metadata(file_.bytes(), path.string())),
        leaves_(static_cast<size_t>(metadata_.leaves)) {
    for (const ColumnName& column : columns) wanted_.push_back(wanted(column));
  }

  bool next(std::vector<Cell>& cells) override {
    while (left_ == 0) {
      if (group_ == metadata_.groups.size()) return false;
      open_group(metadata_.groups[group_++]);
    }
    ++row_, --left_;
    cells.clear(), values_.clear(), budget_ = static_cast<int64_t>(kLargestRow);
    try {
      for (const Wanted& column : wanted_)  // once per column, even if several fields are parts of it
        if (column.node && !values_.contains(column.node)) values_[column.node] = value_of(*column.node);
    } catch (const RowError&) {
      throw;
    } catch (const Error& error) {
      throw RowError(fmt::format("{} (row {})", error.what(), row_), true);
    }
    for (const Wanted& column : wanted_) cells.push_back(cell_of(column));
    for (const Cell& cell : cells) require_utf8(cell);
    return true;
  }

 private:
  /// A column of the schema, and the path of the cell in it.
  struct Wanted {
    const SchemaNode* node = nullptr;  // null: the column is missing
    std::string path;                  // empty: the whole column
  };

  Wanted wanted(const ColumnName& column) const {
    const auto& nodes = metadata_.root.children;
    if (const auto whole = std::ranges::find(nodes, column.name, &SchemaNode::name); whole != nodes.end())
      return {&*whole, ""};
    const size_t dot = column.name.find('.');
    const auto first = std::ranges::find(nodes, column.name.substr(0, dot), &SchemaNode::name);
    if (dot != column.name.npos && first != nodes.end()) return {&*first, column.name.substr(dot + 1)};
    if (column.optional) return {};
    std::vector<std::string> names;
    for (const SchemaNode& node : nodes) names.push_back(node.name);
    fail_with(Status::invalid_file, "'{}': {}", file(), missing_column(column.name, names));
  }

  void open_group(const parquet::RowGroup& group) {
    left_ = group.rows;
    for (auto& leaf : leaves_) leaf.reset();
    for (const Wanted& column : wanted_)
      if (column.node) open_leaves(*column.node, column.node->name, group);
  }

  void open_leaves(const SchemaNode& node, const std::string& path, const parquet::RowGroup& group) {
    for (const SchemaNode& child : node.children) open_leaves(child, path + "." + child.name, group);
    if (node.leaf < 0) return;
    const auto i = static_cast<size_t>(node.leaf);
    if (!leaves_[i])
      leaves_[i] = std::make_unique<ParquetColumn>(file_.bytes(), node, group.columns[i], file(), path);
  }

  Cell cell_of(const Wanted& column) const {
    if (!column.node) return nullptr;
    const Cell& value = values_.at(column.node);
    if (column.path.empty()) return value;
    const Cell* member = find_cell(value, column.path);
    if (!member) refuse(fmt::format("there is no '{}' in '{}'", column.path, column.node->name));
    return *member;
  }

  static const SchemaNode& first_leaf(const SchemaNode& node) {
    return node.leaf >= 0 ? node : first_leaf(node.children.at(0));
  }
  ParquetColumn& leaf_of(const SchemaNode& node) {
    return *leaves_[static_cast<size_t>(first_leaf(node).leaf)];
  }

  Cell value_of(const SchemaNode& node) {
    if (node.repetition == Repetition::repeated) return repeated(node);
    if (node.repetition == Repetition::optional && leaf_of(node).definition() < node.definition)
      return take_nothing(node), nullptr;
    return present(node);
  }

  /// Returns an element that exists. A group around a repeated element is the list itself.
  Cell present(const SchemaNode& node) {
    if (node.leaf >= 0) return taken(node);
    if (node.children.size() == 1 && node.children[0].repetition == Repetition::repeated)
      return repeated(node.children[0]);
    Cell object = Cell::object();
    for (const SchemaNode& child : node.children) object[child.name] = value_of(child);
    return object;
  }

  Cell taken(const SchemaNode& leaf) {
    Cell value = leaf_of(leaf).take();
    if (value.is_string()) spend(value.get_ref<const std::string&>().size());
    return value;
  }

  /// Runs of equal values take few bytes of a file, so that a damaged one may have a row of any size.
  void spend(size_t bytes) {
    budget_ -= static_cast<int64_t>(bytes);
    if (budget_ < 0) refuse(fmt::format("it is longer than {} MiB", kLargestRow >> 20), true);
  }

  Cell repeated(const SchemaNode& node) {
    Cell list = Cell::array();
    if (leaf_of(node).definition() < node.definition) return take_nothing(node), list;
    do {
      spend(sizeof(Cell));
      list.push_back(element(node));
    } while (!leaf_of(node).is_at_end() && leaf_of(node).repetition() == node.repeats);
    return list;
  }

  /// The repeated group of a list has the element as its only child, "element" or "item".
  Cell element(const SchemaNode& node) {
    const bool wraps = node.children.size() == 1 && (node.name == "list" || node.name == "bag");
    return wraps ? value_of(node.children[0]) : present(node);
  }

  /// Takes the levels of a missing element from all of its leaves.
  void take_nothing(const SchemaNode& node) {
    if (node.leaf >= 0) leaf_of(node).take();
    for (const SchemaNode& child : node.children) take_nothing(child);
  }

  void require_utf8(const Cell& cell) const {
    if (cell.is_string() && !is_utf8(cell.get_ref<const std::string&>()))
      refuse("a text is no UTF-8: expected a column of texts in UTF-8");
    if (cell.is_structured())
      for (const Cell& each : cell) require_utf8(each);
  }

  SpooledFile spooled_;
  MappedFile file_;
  parquet::FileMetadata metadata_;
  std::vector<Wanted> wanted_;
  std::vector<std::unique_ptr<ParquetColumn>> leaves_;  // of this group; null: not wanted
  std::map<const SchemaNode*, Cell> values_;            // of this row
  size_t group_ = 0;
  int64_t left_ = 0;    // rows of this group
  int64_t budget_ = 0;  // bytes that this row may still take
};

}  // namespace

std::unique_ptr<RowReader> open_parquet_rows(const std::filesystem::path& path,
                                             const std::vector<ColumnName>& columns) {
  return std::make_unique<ParquetRows>(path, columns);
}

}  // namespace smelt
