// What of a plan needs the other ranks of its mesh.
#pragma once

#include "runtime/plan/plan.h"
#include "runtime/ranks/rank_groups.h"

namespace smelt {

/// Whether an entry runs with the other ranks of the plan's mesh alone: it has collectives, its sizes or
/// random numbers depend on the rank's place, or it uses states of which each rank has a part.
bool needs_ranks(const Plan& plan, const PlanEntry& entry);

/// Whether a step of the plan works along the axis of its mesh, or a state is shared over it.
bool uses_axis(const Plan& plan, const MeshAxis& axis);

/// Whether ranks along the axis exchange something in this entry: all of them run it, as often as each other.
bool exchanges_along(const Plan& plan, std::string_view entry, std::string_view axis);

/// Throws Error naming both meshes where these are not the ranks that the plan is for. `ranks`: null where
/// this process runs alone.
void require_mesh(const Plan& plan, const RankGroups* ranks);

/// The same, where the entry needs ranks.
void require_ranks(const Plan& plan, const PlanEntry& entry, const RankGroups* ranks);

}  // namespace smelt
