// Sharding of the states and values of a module on its mesh.
#include <fmt/format.h>

#include <algorithm>

#include "ir/graph/graph.h"
#include "llvm/ADT/STLExtras.h"
#include "runtime/base/error.h"

namespace smelt {

void Module::set_mesh(Mesh mesh) {
  mesh_ = std::move(mesh);
  for (const MeshAxis& axis : mesh_.axes) symbols.bound({coordinate(axis)}, axis.size - 1, 0);
}

NumberedName<Dim> draw_begin(size_t dim) { return {fmt::format("{}.{}", attr::begin.text, dim)}; }
NumberedName<Dim> draw_extent(size_t dim) { return {fmt::format("{}.{}", attr::extent.text, dim)}; }

Sharding sharding_of(const State& state, const Mesh& mesh) {
  Sharding sharding;
  const auto named = [&](const std::string& name) {
    if (const auto axis = mesh.find(name)) return *axis;
    fail("state \"{}\" is shared over \"{}\", an axis that the mesh {{{}}} does not have", state.name, name,
         str(mesh));
  };
  sharding.dims.resize(state.shape.size());
  if (!state.cut.empty() && state.cut.size() != state.shape.size())
    fail("state \"{}\" is cut in {} dims, its shape is {}", state.name, state.cut.size(), str(state.shape));
  for (size_t i = 0; i < state.cut.size(); ++i)
    for (const std::string& name : state.cut[i]) sharding.dims[i].push_back(named(name));
  for (const std::string& name : state.partial) sharding.partial.push_back(named(name));
  llvm::sort(sharding.partial);
  return sharding;
}

const MeshAxis& mesh_axis(const Node& collective) {
  const Mesh& mesh = collective.graph().module().mesh();
  if (const auto axis = mesh.find(collective.get(attr::mesh_axis))) return mesh.axes[*axis];
  fail("{}: the mesh {{{}}} has no axis \"{}\"", collective.describe(), str(mesh),
       collective.get(attr::mesh_axis));
}

Shape whole_shape(const Module& module, const Shape& part, const Sharding& sharding) {
  Shape shape = part;
  for (size_t i = 0; i < std::min(shape.size(), sharding.dims.size()); ++i)
    shape[i] *= parts_of(module.mesh(), sharding.dims[i]);
  return shape;
}

Shape whole_shape(const Value& value) {
  const Module& module = value.node()->graph().module();
  return module.partitioned && value.sharding ? whole_shape(module, value.shape(), *value.sharding)
                                              : value.shape();
}

}  // namespace smelt
