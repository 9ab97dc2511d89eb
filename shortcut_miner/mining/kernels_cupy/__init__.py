"""CUDA C sources of the kernels: integers in, integers out. They assume what their callers checked.

A parameter of a kernel is a pointer to ``Number``, ``Count``, ``Key`` or ``Byte``, or a ``Count``. A kernel
takes any number of blocks: it strides over its work by the size of the grid.
"""
