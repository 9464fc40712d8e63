// A mesh of ranks: names for the positions of several processes that run one plan.
//
// A mesh has named axes, {data = 2, model = 4}; a rank is a place in it, counted row-major, so that the last
// axis varies fastest.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace smelt {

/// Philox counters have 16 bits for a rank.
inline constexpr int64_t kMostRanksOfMesh = 1 << 16;

/// The axis of the stages of a pipeline.
inline constexpr std::string_view kStageAxis = "stage";

struct MeshAxis {
  std::string name;
  int64_t size = 1;
  bool operator==(const MeshAxis&) const = default;
};

struct Mesh {
  std::vector<MeshAxis> axes;

  bool empty() const { return axes.empty(); }
  int64_t ranks() const;  // of all axes; 1 of none
  /// The axis of this name.
  std::optional<size_t> find(std::string_view name) const;
  /// Returns the coordinates of a rank, one number per axis.
  std::vector<int64_t> coordinates(int64_t rank) const;
  /// Returns the ranks that differ from this one along `axis` alone, itself among them, in order.
  std::vector<int64_t> group(int64_t rank, size_t axis) const;
  bool operator==(const Mesh&) const = default;
};
/// The symbol that is a rank's place along the axis: "data.rank".
std::string coordinate(const MeshAxis& axis);
std::string str(const Mesh& mesh);  // "data = 2, model = 4"
/// Checks that names consist of letters, digits and _ and occur once, sizes are at least 1, and there are at
/// most kMostRanksOfMesh ranks; throws Error naming the fault.
void check_mesh(const Mesh& mesh);
/// Parses "data=2,model=4"; throws Error naming the fault.
Mesh parse_mesh(std::string_view text);

}  // namespace smelt
