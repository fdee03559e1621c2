; Made from dlpack.c by `python -m optgen.objectcode.generate`, with clang 19.1.7.
; SHA-256 of dlpack.c: e3392ab5cd1133e4435d8c8517d904f6eeb64725634bf7f4ed6c5e599a05544f

%struct.dl_tensor = type { ptr, i32, i32, i32, i8, i8, i16, ptr, ptr, i64 }
%struct.reader = type { ptr, ptr, ptr, ptr, ptr, i64, ptr, ptr, ptr, ptr, i64, ptr }

define i64 @optgen_dlpack_record(ptr %0, ptr %1) {
  %3 = alloca ptr, align 8
  %4 = alloca ptr, align 8
  store ptr %0, ptr %3, align 8
  store ptr %1, ptr %4, align 8
  %5 = load ptr, ptr %3, align 8
  %6 = load ptr, ptr %4, align 8
  %7 = call i64 @visit(ptr %5, ptr %6, i32 1)
  ret i64 %7
}

define internal i64 @visit(ptr %0, ptr %1, i32 %2) {
  %4 = alloca i64, align 8
  %5 = alloca ptr, align 8
  %6 = alloca ptr, align 8
  %7 = alloca i32, align 4
  %8 = alloca i64, align 8
  %9 = alloca ptr, align 8
  %10 = alloca i64, align 8
  %11 = alloca ptr, align 8
  %12 = alloca %struct.dl_tensor, align 8
  %13 = alloca i64, align 8
  store ptr %0, ptr %5, align 8
  store ptr %1, ptr %6, align 8
  store i32 %2, ptr %7, align 4
  %14 = load ptr, ptr %5, align 8
  %15 = getelementptr inbounds %struct.reader, ptr %14, i32 0, i32 5
  %16 = load i64, ptr %15, align 8
  store i64 %16, ptr %8, align 8
  %17 = load ptr, ptr %5, align 8
  %18 = getelementptr inbounds %struct.reader, ptr %17, i32 0, i32 6
  %19 = load ptr, ptr %18, align 8
  store ptr %19, ptr %9, align 8
  store i64 0, ptr %10, align 8
  br label %20

20:
  %21 = load i64, ptr %10, align 8
  %22 = load i64, ptr %8, align 8
  %23 = icmp slt i64 %21, %22
  br i1 %23, label %24, label %77

24:
  %25 = load ptr, ptr %5, align 8
  %26 = getelementptr inbounds %struct.reader, ptr %25, i32 0, i32 1
  %27 = load ptr, ptr %26, align 8
  %28 = load ptr, ptr %6, align 8
  %29 = load i64, ptr %10, align 8
  %30 = call ptr %27(ptr %28, i64 %29)
  store ptr %30, ptr %11, align 8
  call void @llvm.memset.p0.i64(ptr align 8 %12, i8 0, i64 48, i1 false)
  %31 = getelementptr inbounds %struct.dl_tensor, ptr %12, i32 0, i32 3
  store i32 -1, ptr %31, align 8
  %32 = load ptr, ptr %11, align 8
  %33 = load ptr, ptr %5, align 8
  %34 = getelementptr inbounds %struct.reader, ptr %33, i32 0, i32 4
  %35 = load ptr, ptr %34, align 8
  %36 = icmp ne ptr %32, %35
  br i1 %36, label %37, label %52

37:
  %38 = load ptr, ptr %11, align 8
  %39 = icmp ne ptr %38, null
  br i1 %39, label %40, label %47

40:
  %41 = load ptr, ptr %5, align 8
  %42 = getelementptr inbounds %struct.reader, ptr %41, i32 0, i32 0
  %43 = load ptr, ptr %42, align 8
  %44 = load ptr, ptr %11, align 8
  %45 = call i32 %43(ptr %44, ptr %12)
  %46 = icmp ne i32 %45, 0
  br i1 %46, label %47, label %52

47:
  %48 = load ptr, ptr %5, align 8
  %49 = getelementptr inbounds %struct.reader, ptr %48, i32 0, i32 3
  %50 = load ptr, ptr %49, align 8
  call void %50()
  %51 = load i64, ptr %10, align 8
  store i64 %51, ptr %4, align 8
  br label %112

52:
  %53 = load ptr, ptr %9, align 8
  %54 = load ptr, ptr %5, align 8
  %55 = getelementptr inbounds %struct.reader, ptr %54, i32 0, i32 7
  %56 = load ptr, ptr %55, align 8
  %57 = load i32, ptr %7, align 4
  %58 = call ptr @check(ptr %12, ptr %53, ptr %56, i32 %57)
  store ptr %58, ptr %9, align 8
  %59 = load ptr, ptr %9, align 8
  %60 = icmp ne ptr %59, null
  br i1 %60, label %63, label %61

61:
  %62 = load i64, ptr %10, align 8
  store i64 %62, ptr %4, align 8
  br label %112

63:
  %64 = getelementptr inbounds %struct.dl_tensor, ptr %12, i32 0, i32 0
  %65 = load ptr, ptr %64, align 8
  %66 = getelementptr inbounds %struct.dl_tensor, ptr %12, i32 0, i32 9
  %67 = load i64, ptr %66, align 8
  %68 = getelementptr inbounds i8, ptr %65, i64 %67
  %69 = load ptr, ptr %5, align 8
  %70 = getelementptr inbounds %struct.reader, ptr %69, i32 0, i32 8
  %71 = load ptr, ptr %70, align 8
  %72 = load i64, ptr %10, align 8
  %73 = getelementptr inbounds ptr, ptr %71, i64 %72
  store ptr %68, ptr %73, align 8
  br label %74

74:
  %75 = load i64, ptr %10, align 8
  %76 = add nsw i64 %75, 1
  store i64 %76, ptr %10, align 8
  br label %20

77:
  store i64 0, ptr %13, align 8
  br label %78

78:
  %79 = load i64, ptr %13, align 8
  %80 = load ptr, ptr %5, align 8
  %81 = getelementptr inbounds %struct.reader, ptr %80, i32 0, i32 10
  %82 = load i64, ptr %81, align 8
  %83 = icmp slt i64 %79, %82
  br i1 %83, label %84, label %111

84:
  %85 = load ptr, ptr %5, align 8
  %86 = getelementptr inbounds %struct.reader, ptr %85, i32 0, i32 11
  %87 = load ptr, ptr %86, align 8
  %88 = load i64, ptr %13, align 8
  %89 = getelementptr inbounds i64, ptr %87, i64 %88
  %90 = load ptr, ptr %5, align 8
  %91 = getelementptr inbounds %struct.reader, ptr %90, i32 0, i32 2
  %92 = load ptr, ptr %91, align 8
  %93 = load ptr, ptr %5, align 8
  %94 = getelementptr inbounds %struct.reader, ptr %93, i32 0, i32 1
  %95 = load ptr, ptr %94, align 8
  %96 = load ptr, ptr %5, align 8
  %97 = getelementptr inbounds %struct.reader, ptr %96, i32 0, i32 9
  %98 = load ptr, ptr %97, align 8
  %99 = load i64, ptr %13, align 8
  %100 = call ptr %95(ptr %98, i64 %99)
  %101 = call i64 %92(ptr %100)
  %102 = load i32, ptr %7, align 4
  %103 = call i32 @is_same(ptr %89, i64 %101, i32 %102)
  %104 = icmp ne i32 %103, 0
  br i1 %104, label %107, label %105

105:
  %106 = load i64, ptr %8, align 8
  store i64 %106, ptr %4, align 8
  br label %112

107:
  br label %108

108:
  %109 = load i64, ptr %13, align 8
  %110 = add nsw i64 %109, 1
  store i64 %110, ptr %13, align 8
  br label %78

111:
  store i64 -1, ptr %4, align 8
  br label %112

112:
  %113 = load i64, ptr %4, align 8
  ret i64 %113
}

define i64 @optgen_dlpack_read(ptr %0, ptr %1) {
  %3 = alloca ptr, align 8
  %4 = alloca ptr, align 8
  store ptr %0, ptr %3, align 8
  store ptr %1, ptr %4, align 8
  %5 = load ptr, ptr %3, align 8
  %6 = load ptr, ptr %4, align 8
  %7 = call i64 @visit(ptr %5, ptr %6, i32 0)
  ret i64 %7
}

declare void @llvm.memset.p0.i64(ptr, i8, i64, i1 immarg)

define internal ptr @check(ptr %0, ptr %1, ptr %2, i32 %3) {
  %5 = alloca ptr, align 8
  %6 = alloca ptr, align 8
  %7 = alloca ptr, align 8
  %8 = alloca ptr, align 8
  %9 = alloca i32, align 4
  %10 = alloca ptr, align 8
  %11 = alloca i32, align 4
  %12 = alloca i64, align 8
  store ptr %0, ptr %6, align 8
  store ptr %1, ptr %7, align 8
  store ptr %2, ptr %8, align 8
  store i32 %3, ptr %9, align 4
  %13 = load ptr, ptr %8, align 8
  %14 = load ptr, ptr %7, align 8
  %15 = ptrtoint ptr %13 to i64
  %16 = ptrtoint ptr %14 to i64
  %17 = sub i64 %15, %16
  %18 = sdiv exact i64 %17, 8
  %19 = load ptr, ptr %6, align 8
  %20 = getelementptr inbounds %struct.dl_tensor, ptr %19, i32 0, i32 3
  %21 = load i32, ptr %20, align 8
  %22 = icmp sgt i32 %21, 0
  br i1 %22, label %23, label %27

23:
  %24 = load ptr, ptr %6, align 8
  %25 = getelementptr inbounds %struct.dl_tensor, ptr %24, i32 0, i32 3
  %26 = load i32, ptr %25, align 8
  br label %28

27:
  br label %28

28:
  %29 = phi i32 [ %26, %23 ], [ 0, %27 ]
  %30 = mul nsw i32 2, %29
  %31 = add nsw i32 3, %30
  %32 = sext i32 %31 to i64
  %33 = icmp slt i64 %18, %32
  br i1 %33, label %82, label %34

34:
  %35 = load ptr, ptr %7, align 8
  %36 = getelementptr inbounds i64, ptr %35, i64 0
  %37 = load ptr, ptr %6, align 8
  %38 = getelementptr inbounds %struct.dl_tensor, ptr %37, i32 0, i32 3
  %39 = load i32, ptr %38, align 8
  %40 = sext i32 %39 to i64
  %41 = load i32, ptr %9, align 4
  %42 = call i32 @is_same(ptr %36, i64 %40, i32 %41)
  %43 = icmp ne i32 %42, 0
  br i1 %43, label %44, label %82

44:
  %45 = load ptr, ptr %7, align 8
  %46 = getelementptr inbounds i64, ptr %45, i64 1
  %47 = load ptr, ptr %6, align 8
  %48 = getelementptr inbounds %struct.dl_tensor, ptr %47, i32 0, i32 1
  %49 = load i32, ptr %48, align 8
  %50 = sext i32 %49 to i64
  %51 = shl i64 %50, 32
  %52 = load ptr, ptr %6, align 8
  %53 = getelementptr inbounds %struct.dl_tensor, ptr %52, i32 0, i32 2
  %54 = load i32, ptr %53, align 4
  %55 = sext i32 %54 to i64
  %56 = add nsw i64 %51, %55
  %57 = load i32, ptr %9, align 4
  %58 = call i32 @is_same(ptr %46, i64 %56, i32 %57)
  %59 = icmp ne i32 %58, 0
  br i1 %59, label %60, label %82

60:
  %61 = load ptr, ptr %7, align 8
  %62 = getelementptr inbounds i64, ptr %61, i64 2
  %63 = load ptr, ptr %6, align 8
  %64 = getelementptr inbounds %struct.dl_tensor, ptr %63, i32 0, i32 4
  %65 = load i8, ptr %64, align 4
  %66 = zext i8 %65 to i64
  %67 = shl i64 %66, 24
  %68 = load ptr, ptr %6, align 8
  %69 = getelementptr inbounds %struct.dl_tensor, ptr %68, i32 0, i32 5
  %70 = load i8, ptr %69, align 1
  %71 = zext i8 %70 to i64
  %72 = shl i64 %71, 16
  %73 = add nsw i64 %67, %72
  %74 = load ptr, ptr %6, align 8
  %75 = getelementptr inbounds %struct.dl_tensor, ptr %74, i32 0, i32 6
  %76 = load i16, ptr %75, align 2
  %77 = zext i16 %76 to i64
  %78 = add nsw i64 %73, %77
  %79 = load i32, ptr %9, align 4
  %80 = call i32 @is_same(ptr %62, i64 %78, i32 %79)
  %81 = icmp ne i32 %80, 0
  br i1 %81, label %83, label %82

82:
  store ptr null, ptr %5, align 8
  br label %140

83:
  %84 = load ptr, ptr %7, align 8
  %85 = getelementptr inbounds i64, ptr %84, i64 3
  store ptr %85, ptr %10, align 8
  store i32 0, ptr %11, align 4
  br label %86

86:
  %87 = load i32, ptr %11, align 4
  %88 = load ptr, ptr %6, align 8
  %89 = getelementptr inbounds %struct.dl_tensor, ptr %88, i32 0, i32 3
  %90 = load i32, ptr %89, align 8
  %91 = icmp slt i32 %87, %90
  br i1 %91, label %92, label %138

92:
  %93 = load ptr, ptr %6, align 8
  %94 = getelementptr inbounds %struct.dl_tensor, ptr %93, i32 0, i32 7
  %95 = load ptr, ptr %94, align 8
  %96 = load i32, ptr %11, align 4
  %97 = sext i32 %96 to i64
  %98 = getelementptr inbounds i64, ptr %95, i64 %97
  %99 = load i64, ptr %98, align 8
  %100 = icmp eq i64 %99, 1
  br i1 %100, label %101, label %102

101:
  br label %110

102:
  %103 = load ptr, ptr %6, align 8
  %104 = getelementptr inbounds %struct.dl_tensor, ptr %103, i32 0, i32 8
  %105 = load ptr, ptr %104, align 8
  %106 = load i32, ptr %11, align 4
  %107 = sext i32 %106 to i64
  %108 = getelementptr inbounds i64, ptr %105, i64 %107
  %109 = load i64, ptr %108, align 8
  br label %110

110:
  %111 = phi i64 [ 0, %101 ], [ %109, %102 ]
  store i64 %111, ptr %12, align 8
  %112 = load ptr, ptr %10, align 8
  %113 = getelementptr inbounds i64, ptr %112, i64 0
  %114 = load ptr, ptr %6, align 8
  %115 = getelementptr inbounds %struct.dl_tensor, ptr %114, i32 0, i32 7
  %116 = load ptr, ptr %115, align 8
  %117 = load i32, ptr %11, align 4
  %118 = sext i32 %117 to i64
  %119 = getelementptr inbounds i64, ptr %116, i64 %118
  %120 = load i64, ptr %119, align 8
  %121 = load i32, ptr %9, align 4
  %122 = call i32 @is_same(ptr %113, i64 %120, i32 %121)
  %123 = icmp ne i32 %122, 0
  br i1 %123, label %124, label %131

124:
  %125 = load ptr, ptr %10, align 8
  %126 = getelementptr inbounds i64, ptr %125, i64 1
  %127 = load i64, ptr %12, align 8
  %128 = load i32, ptr %9, align 4
  %129 = call i32 @is_same(ptr %126, i64 %127, i32 %128)
  %130 = icmp ne i32 %129, 0
  br i1 %130, label %132, label %131

131:
  store ptr null, ptr %5, align 8
  br label %140

132:
  br label %133

133:
  %134 = load i32, ptr %11, align 4
  %135 = add nsw i32 %134, 1
  store i32 %135, ptr %11, align 4
  %136 = load ptr, ptr %10, align 8
  %137 = getelementptr inbounds i64, ptr %136, i64 2
  store ptr %137, ptr %10, align 8
  br label %86

138:
  %139 = load ptr, ptr %10, align 8
  store ptr %139, ptr %5, align 8
  br label %140

140:
  %141 = load ptr, ptr %5, align 8
  ret ptr %141
}

define internal i32 @is_same(ptr %0, i64 %1, i32 %2) {
  %4 = alloca ptr, align 8
  %5 = alloca i64, align 8
  %6 = alloca i32, align 4
  store ptr %0, ptr %4, align 8
  store i64 %1, ptr %5, align 8
  store i32 %2, ptr %6, align 4
  %7 = load i32, ptr %6, align 4
  %8 = icmp ne i32 %7, 0
  br i1 %8, label %9, label %12

9:
  %10 = load i64, ptr %5, align 8
  %11 = load ptr, ptr %4, align 8
  store i64 %10, ptr %11, align 8
  br label %12

12:
  %13 = load ptr, ptr %4, align 8
  %14 = load i64, ptr %13, align 8
  %15 = load i64, ptr %5, align 8
  %16 = icmp eq i64 %14, %15
  %17 = zext i1 %16 to i32
  ret i32 %17
}
