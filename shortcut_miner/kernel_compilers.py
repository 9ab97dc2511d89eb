"""Compiling kernels and their steps: nothing twice, and steps no further than what their kernels take in.

numba optimizes every function that it compiles, with all that this one calls, and makes machine code of it. A
step is called by compiled code alone, which takes the step's code in and is optimized as a whole. So what is
made of the step itself nobody runs, and it is half of what LLVM has to do. That each function is optimized by
itself beforehand changes nothing either, and takes a tenth of the rest.
"""

# mypy: disallow-untyped-decorators=False

from typing import Any

from llvmlite.binding import add_symbol
from numba import _dynfunc
from numba.core.caching import FunctionCache
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import register_pass
from numba.core.runtime._nrt_python import c_helpers
from numba.core.typed_passes import NativeLowering


class _Library(JITCodeLibrary):  # type: ignore[misc]
    """What a function and those that it calls are translated to, optimized as a whole."""

    def _optimize_functions(self, ll_module: Any) -> None:
        ll_module.data_layout = self._codegen._data_layout


class Unfinished(_Library):
    """The same of a step: neither optimized nor made to machine code."""

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True


@register_pass(mutates_CFG=True, analysis_only=False)
class _KernelLowering(NativeLowering):  # type: ignore[misc]
    _name = "kernel_lowering"

    def run_pass(self, state: Any) -> bool:
        """Translate a kernel."""
        state.library = _Library(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        return bool(super().run_pass(state))


@register_pass(mutates_CFG=True, analysis_only=False)
class _StepLowering(NativeLowering):  # type: ignore[misc]
    _name = "step_lowering"

    def run_pass(self, state: Any) -> bool:
        """Translate a step, and let other functions call it."""
        context = state.targetctx
        state.library = Unfinished(context.codegen(), state.func_id.func_qualname)
        state.flags.no_compile = True
        super().run_pass(state)
        step = state.cr.fndesc
        # Stands for the step where numba asks for a function; it has no code.
        entry = _dynfunc.make_function(
            step.lookup_module(), step.qualname, "", 0, state.cr.env, (state.library,)
        )
        context.insert_user_function(entry, step, [state.library])
        state.cr = state.cr._replace(cfunc=entry)
        return True


class KernelCompiler(CompilerBase):  # type: ignore[misc]
    """numba's compiler for what is called from Python."""

    lowering = _KernelLowering

    def define_pipelines(self) -> list[Any]:
        """Return the passes: numba's, but for its lowering."""
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.add_pass_after(self.lowering, NativeLowering)
        passes.passes = [each for each in passes.passes if each[0] is not NativeLowering]
        passes.finalize()
        return [passes]


class StepCompiler(KernelCompiler):
    """The same for what is called by kernels alone."""

    lowering = _StepLowering


def take_from_cache_at_once() -> None:
    """Let numba take code from its cache without loading first what it can compile, half of its modules.

    Nor is what counts references compiled: code from the cache has it, but for what is in C. Before numba
    compiles anything it does both anyway. It holds for all functions, as long as the process runs.
    """
    for name, address in c_helpers.items():
        add_symbol(name if name.startswith("_") else f"NRT_{name}", address)

    def load_overload(cache: Any, signature: Any, context: Any) -> Any:
        with cache._guard_against_spurious_io_errors():
            return cache._load_overload(signature, context)

    FunctionCache.load_overload = load_overload
