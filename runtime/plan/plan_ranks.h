// Detection of the entries of a plan that run only together with the other ranks of the plan's mesh.
#pragma once

#include "runtime/plan/plan.h"
#include "runtime/ranks/rank_groups.h"

namespace smelt {

/// Returns whether an entry can run only together with the other ranks of the plan's mesh. This is so if it
/// has collectives, or if its sizes or random numbers depend on the rank's coordinates in the mesh. It is
/// also so if the entry uses a state that is sharded over ranks, or of which each rank holds an addend
/// (State::partial).
bool needs_ranks(const Plan& plan, const PlanEntry& entry);

/// Returns whether a collective of the plan runs along this axis of its mesh, a state is sharded along the
/// axis, or each rank along the axis holds an addend of a state.
bool uses_axis(const Plan& plan, const MeshAxis& axis);

/// Returns whether the entry of this name has collectives along the axis of this name, so that all ranks
/// along the axis must run it the same number of times.
bool exchanges_along(const Plan& plan, std::string_view entry, std::string_view axis);

/// Checks that the ranks of this run have the plan's mesh. `ranks` is null if this process runs alone.
/// Throws Error that names the mesh of the plan and that of the run.
void require_mesh(const Plan& plan, const RankGroups* ranks);

/// Calls require_mesh if needs_ranks is true for the entry.
void require_ranks(const Plan& plan, const PlanEntry& entry, const RankGroups* ranks);

}  // namespace smelt
