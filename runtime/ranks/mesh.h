// A mesh of ranks: the arrangement of the processes (ranks) that run one plan together, in a grid with named
// axes.
//
// A mesh has named axes, such as {data = 2, model = 4}. A rank has one coordinate along each axis. Ranks are
// numbered row-major: the coordinate along the last axis varies fastest.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace smelt {

/// Largest number of ranks in a mesh: the counters of the random generator (Philox) have 16 bits for the
/// rank.
inline constexpr int64_t kMostRanksOfMesh = 1 << 16;

/// Name of the mesh axis along which the ranks are the stages of pipeline parallelism.
inline constexpr std::string_view kStageAxis = "stage";

/// A named axis of a mesh, and the number of coordinates along it.
struct MeshAxis {
  std::string name;
  int64_t size = 1;
  bool operator==(const MeshAxis&) const = default;
};

struct Mesh {
  std::vector<MeshAxis> axes;

  bool empty() const { return axes.empty(); }
  int64_t ranks() const;  // product of the sizes of all axes; 1 without axes
  /// Returns the index of the axis of this name; nothing if there is none.
  std::optional<size_t> find(std::string_view name) const;
  /// Returns the coordinates of a rank, one number per axis.
  std::vector<int64_t> coordinates(int64_t rank) const;
  /// Returns the ranks whose coordinates differ from those of `rank` at most along `axis`, in order. `rank`
  /// is one of them.
  std::vector<int64_t> group(int64_t rank, size_t axis) const;
  bool operator==(const Mesh&) const = default;
};
/// Returns the name of the symbol whose value in a plan is a rank's coordinate along the axis: "data.rank".
std::string coordinate(const MeshAxis& axis);
std::string str(const Mesh& mesh);  // "data = 2, model = 4"
/// Checks that names consist of letters, digits and _ and occur once, sizes are at least 1, and there are at
/// most kMostRanksOfMesh ranks. Throws Error that names the fault.
void check_mesh(const Mesh& mesh);
/// Parses "data=2,model=4". Throws Error that names the fault.
Mesh parse_mesh(std::string_view text);

}  // namespace smelt
