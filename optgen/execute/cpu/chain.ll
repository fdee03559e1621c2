; Made from chain.c by `python -m optgen.objectcode.generate`, with clang 22.1.8.
; SHA-256 of chain.c: 96f6d4b75f995277ba5935888a2a2c8518f624243a060300f7ed5f0cd54c3646

%struct.chain = type { i64, ptr, i64, ptr, i64, i64, ptr, ptr }
%struct.link = type { ptr, ptr, ptr, ptr }
%struct.step = type { i64, ptr, ptr, ptr }

define void @optgen_chain_run(ptr %0) {
  %2 = alloca ptr, align 8
  %3 = alloca i64, align 8
  %4 = alloca i64, align 8
  %5 = alloca i64, align 8
  %6 = alloca i64, align 8
  %7 = alloca i64, align 8
  store ptr %0, ptr %2, align 8
  store i64 0, ptr %3, align 8
  store i64 0, ptr %4, align 8
  br label %8

8:
  %9 = load i64, ptr %4, align 8
  %10 = load ptr, ptr %2, align 8
  %11 = getelementptr inbounds %struct.chain, ptr %10, i32 0, i32 2
  %12 = load i64, ptr %11, align 8
  %13 = icmp slt i64 %9, %12
  br i1 %13, label %14, label %26

14:
  %15 = load i64, ptr %3, align 8
  %16 = load ptr, ptr %2, align 8
  %17 = getelementptr inbounds %struct.chain, ptr %16, i32 0, i32 3
  %18 = load ptr, ptr %17, align 8
  %19 = load i64, ptr %4, align 8
  %20 = getelementptr inbounds i64, ptr %18, i64 %19
  %21 = load i64, ptr %20, align 8
  %22 = call i64 @larger(i64 %15, i64 %21)
  store i64 %22, ptr %3, align 8
  br label %23

23:
  %24 = load i64, ptr %4, align 8
  %25 = add nsw i64 %24, 1
  store i64 %25, ptr %4, align 8
  br label %8

26:
  store i64 0, ptr %5, align 8
  br label %27

27:
  %28 = load i64, ptr %5, align 8
  %29 = load ptr, ptr %2, align 8
  %30 = getelementptr inbounds %struct.chain, ptr %29, i32 0, i32 0
  %31 = load i64, ptr %30, align 8
  %32 = icmp slt i64 %28, %31
  br i1 %32, label %33, label %47

33:
  %34 = load ptr, ptr %2, align 8
  %35 = getelementptr inbounds %struct.chain, ptr %34, i32 0, i32 1
  %36 = load ptr, ptr %35, align 8
  %37 = load i64, ptr %5, align 8
  %38 = getelementptr inbounds %struct.link, ptr %36, i64 %37
  %39 = load ptr, ptr %2, align 8
  %40 = getelementptr inbounds %struct.chain, ptr %39, i32 0, i32 3
  %41 = load ptr, ptr %40, align 8
  %42 = load i64, ptr %3, align 8
  %43 = call i64 @gather(ptr %38, ptr %41, i64 %42)
  store i64 %43, ptr %3, align 8
  br label %44

44:
  %45 = load i64, ptr %5, align 8
  %46 = add nsw i64 %45, 1
  store i64 %46, ptr %5, align 8
  br label %27

47:
  store i64 0, ptr %6, align 8
  br label %48

48:
  %49 = load i64, ptr %6, align 8
  %50 = load ptr, ptr %2, align 8
  %51 = getelementptr inbounds %struct.chain, ptr %50, i32 0, i32 0
  %52 = load i64, ptr %51, align 8
  %53 = icmp slt i64 %49, %52
  br i1 %53, label %54, label %64

54:
  %55 = load ptr, ptr %2, align 8
  %56 = getelementptr inbounds %struct.chain, ptr %55, i32 0, i32 1
  %57 = load ptr, ptr %56, align 8
  %58 = load i64, ptr %6, align 8
  %59 = getelementptr inbounds %struct.link, ptr %57, i64 %58
  %60 = load i64, ptr %3, align 8
  call void @set_shared_count(ptr %59, i64 %60)
  br label %61

61:
  %62 = load i64, ptr %6, align 8
  %63 = add nsw i64 %62, 1
  store i64 %63, ptr %6, align 8
  br label %48

64:
  store i64 0, ptr %7, align 8
  br label %65

65:
  %66 = load i64, ptr %7, align 8
  %67 = load ptr, ptr %2, align 8
  %68 = getelementptr inbounds %struct.chain, ptr %67, i32 0, i32 0
  %69 = load i64, ptr %68, align 8
  %70 = load ptr, ptr %2, align 8
  %71 = getelementptr inbounds %struct.chain, ptr %70, i32 0, i32 4
  %72 = load i64, ptr %71, align 8
  %73 = sub nsw i64 %69, %72
  %74 = icmp slt i64 %66, %73
  br i1 %74, label %75, label %87

75:
  %76 = load ptr, ptr %2, align 8
  %77 = getelementptr inbounds %struct.chain, ptr %76, i32 0, i32 1
  %78 = load ptr, ptr %77, align 8
  %79 = load i64, ptr %7, align 8
  %80 = getelementptr inbounds %struct.link, ptr %78, i64 %79
  %81 = load ptr, ptr %2, align 8
  %82 = getelementptr inbounds %struct.chain, ptr %81, i32 0, i32 3
  %83 = load ptr, ptr %82, align 8
  call void @run(ptr %80, ptr %83)
  br label %84

84:
  %85 = load i64, ptr %7, align 8
  %86 = add nsw i64 %85, 1
  store i64 %86, ptr %7, align 8
  br label %65

87:
  %88 = load ptr, ptr %2, align 8
  %89 = getelementptr inbounds %struct.chain, ptr %88, i32 0, i32 6
  %90 = load ptr, ptr %89, align 8
  %91 = icmp ne ptr %90, null
  br i1 %91, label %92, label %103

92:
  %93 = load ptr, ptr %2, align 8
  %94 = getelementptr inbounds %struct.chain, ptr %93, i32 0, i32 6
  %95 = load ptr, ptr %94, align 8
  %96 = load ptr, ptr %2, align 8
  %97 = getelementptr inbounds %struct.chain, ptr %96, i32 0, i32 7
  %98 = load ptr, ptr %97, align 8
  %99 = load ptr, ptr %2, align 8
  %100 = load ptr, ptr %2, align 8
  %101 = getelementptr inbounds %struct.chain, ptr %100, i32 0, i32 5
  %102 = load i64, ptr %101, align 8
  call void %95(ptr %98, ptr @run_groups, ptr %99, i64 %102)
  br label %105

103:
  %104 = load ptr, ptr %2, align 8
  call void @run_groups(ptr %104, i64 0, i64 1)
  br label %105

105:
  ret void
}

define internal i64 @larger(i64 %0, i64 %1) {
  %3 = alloca i64, align 8
  %4 = alloca i64, align 8
  store i64 %0, ptr %3, align 8
  store i64 %1, ptr %4, align 8
  %5 = load i64, ptr %3, align 8
  %6 = load i64, ptr %4, align 8
  %7 = icmp sgt i64 %5, %6
  br i1 %7, label %8, label %10

8:
  %9 = load i64, ptr %3, align 8
  br label %12

10:
  %11 = load i64, ptr %4, align 8
  br label %12

12:
  %13 = phi i64 [ %9, %8 ], [ %11, %10 ]
  ret i64 %13
}

define internal i64 @gather(ptr %0, ptr %1, i64 %2) {
  %4 = alloca ptr, align 8
  %5 = alloca ptr, align 8
  %6 = alloca i64, align 8
  %7 = alloca i64, align 8
  %8 = alloca ptr, align 8
  %9 = alloca ptr, align 8
  %10 = alloca i64, align 8
  %11 = alloca i64, align 8
  store ptr %0, ptr %4, align 8
  store ptr %1, ptr %5, align 8
  store i64 %2, ptr %6, align 8
  %12 = load ptr, ptr %4, align 8
  %13 = getelementptr inbounds %struct.link, ptr %12, i32 0, i32 1
  %14 = load ptr, ptr %13, align 8
  %15 = getelementptr inbounds %struct.step, ptr %14, i32 0, i32 0
  %16 = load i64, ptr %15, align 8
  store i64 %16, ptr %7, align 8
  %17 = load ptr, ptr %4, align 8
  %18 = getelementptr inbounds %struct.link, ptr %17, i32 0, i32 2
  %19 = load ptr, ptr %18, align 8
  store ptr %19, ptr %8, align 8
  %20 = load ptr, ptr %4, align 8
  %21 = getelementptr inbounds %struct.link, ptr %20, i32 0, i32 1
  %22 = load ptr, ptr %21, align 8
  %23 = getelementptr inbounds %struct.step, ptr %22, i32 0, i32 3
  %24 = load ptr, ptr %23, align 8
  store ptr %24, ptr %9, align 8
  store i64 0, ptr %10, align 8
  br label %25

25:
  %26 = load i64, ptr %10, align 8
  %27 = load i64, ptr %7, align 8
  %28 = icmp slt i64 %26, %27
  br i1 %28, label %29, label %48

29:
  %30 = load ptr, ptr %5, align 8
  %31 = load ptr, ptr %8, align 8
  %32 = load i64, ptr %10, align 8
  %33 = getelementptr inbounds i64, ptr %31, i64 %32
  %34 = load i64, ptr %33, align 8
  %35 = getelementptr inbounds i64, ptr %30, i64 %34
  %36 = load i64, ptr %35, align 8
  store i64 %36, ptr %11, align 8
  %37 = load i64, ptr %11, align 8
  %38 = load ptr, ptr %9, align 8
  %39 = load i64, ptr %10, align 8
  %40 = getelementptr inbounds i64, ptr %38, i64 %39
  store i64 %37, ptr %40, align 8
  %41 = load i64, ptr %6, align 8
  %42 = load i64, ptr %11, align 8
  %43 = add nsw i64 %42, 1
  %44 = call i64 @larger(i64 %41, i64 %43)
  store i64 %44, ptr %6, align 8
  br label %45

45:
  %46 = load i64, ptr %10, align 8
  %47 = add nsw i64 %46, 1
  store i64 %47, ptr %10, align 8
  br label %25

48:
  %49 = load i64, ptr %6, align 8
  ret i64 %49
}

define internal void @set_shared_count(ptr %0, i64 %1) {
  %3 = alloca ptr, align 8
  %4 = alloca i64, align 8
  %5 = alloca ptr, align 8
  %6 = alloca i64, align 8
  %7 = alloca i64, align 8
  store ptr %0, ptr %3, align 8
  store i64 %1, ptr %4, align 8
  %8 = load ptr, ptr %3, align 8
  %9 = getelementptr inbounds %struct.link, ptr %8, i32 0, i32 3
  %10 = load ptr, ptr %9, align 8
  store ptr %10, ptr %5, align 8
  %11 = load ptr, ptr %5, align 8
  %12 = icmp ne ptr %11, null
  br i1 %12, label %13, label %19

13:
  %14 = load ptr, ptr %3, align 8
  %15 = getelementptr inbounds %struct.link, ptr %14, i32 0, i32 1
  %16 = load ptr, ptr %15, align 8
  %17 = getelementptr inbounds %struct.step, ptr %16, i32 0, i32 0
  %18 = load i64, ptr %17, align 8
  br label %20

19:
  br label %20

20:
  %21 = phi i64 [ %18, %13 ], [ 0, %19 ]
  store i64 %21, ptr %6, align 8
  store i64 0, ptr %7, align 8
  br label %22

22:
  %23 = load i64, ptr %7, align 8
  %24 = load i64, ptr %6, align 8
  %25 = icmp slt i64 %23, %24
  br i1 %25, label %26, label %35

26:
  %27 = load i64, ptr %4, align 8
  %28 = sitofp i64 %27 to double
  %29 = load ptr, ptr %5, align 8
  %30 = load i64, ptr %7, align 8
  %31 = getelementptr inbounds double, ptr %29, i64 %30
  store double %28, ptr %31, align 8
  br label %32

32:
  %33 = load i64, ptr %7, align 8
  %34 = add nsw i64 %33, 1
  store i64 %34, ptr %7, align 8
  br label %22

35:
  ret void
}

define internal void @run(ptr %0, ptr %1) {
  %3 = alloca ptr, align 8
  %4 = alloca ptr, align 8
  %5 = alloca i64, align 8
  %6 = alloca ptr, align 8
  %7 = alloca ptr, align 8
  %8 = alloca i64, align 8
  store ptr %0, ptr %3, align 8
  store ptr %1, ptr %4, align 8
  %9 = load ptr, ptr %3, align 8
  %10 = getelementptr inbounds %struct.link, ptr %9, i32 0, i32 1
  %11 = load ptr, ptr %10, align 8
  %12 = getelementptr inbounds %struct.step, ptr %11, i32 0, i32 0
  %13 = load i64, ptr %12, align 8
  store i64 %13, ptr %5, align 8
  %14 = load ptr, ptr %3, align 8
  %15 = getelementptr inbounds %struct.link, ptr %14, i32 0, i32 2
  %16 = load ptr, ptr %15, align 8
  store ptr %16, ptr %6, align 8
  %17 = load ptr, ptr %3, align 8
  %18 = getelementptr inbounds %struct.link, ptr %17, i32 0, i32 1
  %19 = load ptr, ptr %18, align 8
  %20 = getelementptr inbounds %struct.step, ptr %19, i32 0, i32 3
  %21 = load ptr, ptr %20, align 8
  store ptr %21, ptr %7, align 8
  %22 = load ptr, ptr %3, align 8
  %23 = getelementptr inbounds %struct.link, ptr %22, i32 0, i32 0
  %24 = load ptr, ptr %23, align 8
  %25 = load ptr, ptr %3, align 8
  %26 = getelementptr inbounds %struct.link, ptr %25, i32 0, i32 1
  %27 = load ptr, ptr %26, align 8
  call void %24(ptr %27)
  store i64 0, ptr %8, align 8
  br label %28

28:
  %29 = load i64, ptr %8, align 8
  %30 = load i64, ptr %5, align 8
  %31 = icmp slt i64 %29, %30
  br i1 %31, label %32, label %46

32:
  %33 = load ptr, ptr %7, align 8
  %34 = load i64, ptr %8, align 8
  %35 = getelementptr inbounds i64, ptr %33, i64 %34
  %36 = load i64, ptr %35, align 8
  %37 = load ptr, ptr %4, align 8
  %38 = load ptr, ptr %6, align 8
  %39 = load i64, ptr %8, align 8
  %40 = getelementptr inbounds i64, ptr %38, i64 %39
  %41 = load i64, ptr %40, align 8
  %42 = getelementptr inbounds i64, ptr %37, i64 %41
  store i64 %36, ptr %42, align 8
  br label %43

43:
  %44 = load i64, ptr %8, align 8
  %45 = add nsw i64 %44, 1
  store i64 %45, ptr %8, align 8
  br label %28

46:
  ret void
}

define internal void @run_groups(ptr %0, i64 %1, i64 %2) {
  %4 = alloca ptr, align 8
  %5 = alloca i64, align 8
  %6 = alloca i64, align 8
  %7 = alloca ptr, align 8
  %8 = alloca i64, align 8
  %9 = alloca i64, align 8
  %10 = alloca i64, align 8
  %11 = alloca i64, align 8
  store ptr %0, ptr %4, align 8
  store i64 %1, ptr %5, align 8
  store i64 %2, ptr %6, align 8
  %12 = load ptr, ptr %4, align 8
  store ptr %12, ptr %7, align 8
  %13 = load ptr, ptr %7, align 8
  %14 = getelementptr inbounds %struct.chain, ptr %13, i32 0, i32 4
  %15 = load i64, ptr %14, align 8
  store i64 %15, ptr %8, align 8
  %16 = load ptr, ptr %7, align 8
  %17 = getelementptr inbounds %struct.chain, ptr %16, i32 0, i32 0
  %18 = load i64, ptr %17, align 8
  %19 = load i64, ptr %8, align 8
  %20 = sub nsw i64 %18, %19
  store i64 %20, ptr %9, align 8
  %21 = load i64, ptr %9, align 8
  %22 = load i64, ptr %8, align 8
  %23 = load i64, ptr %5, align 8
  %24 = add nsw i64 %23, 1
  %25 = mul nsw i64 %22, %24
  %26 = load i64, ptr %6, align 8
  %27 = sdiv i64 %25, %26
  %28 = add nsw i64 %21, %27
  store i64 %28, ptr %10, align 8
  %29 = load i64, ptr %9, align 8
  %30 = load i64, ptr %8, align 8
  %31 = load i64, ptr %5, align 8
  %32 = mul nsw i64 %30, %31
  %33 = load i64, ptr %6, align 8
  %34 = sdiv i64 %32, %33
  %35 = add nsw i64 %29, %34
  store i64 %35, ptr %11, align 8
  br label %36

36:
  %37 = load i64, ptr %11, align 8
  %38 = load i64, ptr %10, align 8
  %39 = icmp slt i64 %37, %38
  br i1 %39, label %40, label %52

40:
  %41 = load ptr, ptr %7, align 8
  %42 = getelementptr inbounds %struct.chain, ptr %41, i32 0, i32 1
  %43 = load ptr, ptr %42, align 8
  %44 = load i64, ptr %11, align 8
  %45 = getelementptr inbounds %struct.link, ptr %43, i64 %44
  %46 = load ptr, ptr %7, align 8
  %47 = getelementptr inbounds %struct.chain, ptr %46, i32 0, i32 3
  %48 = load ptr, ptr %47, align 8
  call void @run(ptr %45, ptr %48)
  br label %49

49:
  %50 = load i64, ptr %11, align 8
  %51 = add nsw i64 %50, 1
  store i64 %51, ptr %11, align 8
  br label %36

52:
  ret void
}
