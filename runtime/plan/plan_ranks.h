// Which parts of a plan need the other ranks of its mesh.
#pragma once

#include "runtime/plan/plan.h"
#include "runtime/ranks/rank_groups.h"

namespace smelt {

/// Returns whether an entry runs with the other ranks of the plan's mesh alone: it has collectives, its sizes
/// or random numbers depend on the rank's place, or it uses sharded states.
bool needs_ranks(const Plan& plan, const PlanEntry& entry);

/// Returns whether a step of the plan works along the axis of its mesh, or a state is sharded over it.
bool uses_axis(const Plan& plan, const MeshAxis& axis);

/// Returns whether ranks along the axis exchange data in this entry: all of them must run it equally often.
bool exchanges_along(const Plan& plan, std::string_view entry, std::string_view axis);

/// Throws Error naming both meshes if these are not the ranks that the plan is for. `ranks` is null if this
/// process runs alone.
void require_mesh(const Plan& plan, const RankGroups* ranks);

/// Calls require_mesh if the entry needs ranks.
void require_ranks(const Plan& plan, const PlanEntry& entry, const RankGroups* ranks);

}  // namespace smelt
