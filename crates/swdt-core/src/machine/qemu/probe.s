# The boot sector by which a processor is tried (accelerator.rs holds its bytes):
#   as --64 -o probe.o probe.s && objcopy -O binary -j .text probe.o probe.bin
# A host whose KVM is broken or emulated may well run sixteen-bit code and then fail where every kernel begins: with
# paging, in long mode. So that is where this goes; there it counts for a moment, and says that it is done.
.code16
start:
  cli
  xor %ax,%ax
  mov %ax,%ds
  mov %ax,%es
  mov %ax,%ss
  mov $0x7000,%sp
  cld
  # page tables at 0x1000: PML4 -> 0x2000: PDPT -> 0x3000: PD, one page of 2 MiB
  mov $0x1000,%edi
  mov %edi,%cr3
  xor %eax,%eax
  mov $0x0c00,%ecx
  rep stosl
  movl $0x2003,0x1000
  movl $0x3003,0x2000
  movl $0x0083,0x3000
  mov %cr4,%eax
  or $0x20,%eax
  mov %eax,%cr4
  mov $0xc0000080,%ecx
  rdmsr
  or $0x100,%eax
  wrmsr
  lgdtl 0x7c00+gdtr-start
  mov %cr0,%eax
  or $0x80000001,%eax
  mov %eax,%cr0
  ljmp $8,$0x7c00+long-start
.code64
long:
  mov $50000000,%ecx
1: dec %ecx
  jnz 1b
  mov $0x15,%al
  out %al,$0xf4
2: hlt
  jmp 2b
.balign 8
gdt: .quad 0, 0x00209a0000000000
gdtr: .word 15
  .long 0x7c00+gdt-start
