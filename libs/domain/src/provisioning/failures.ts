/** RFC 7644, 3.12: what is wrong with a request, in the words of the protocol. `detail` is for whoever runs the directory. */
export type ScimInvalid = {
  readonly _tag: 'ScimInvalid';
  readonly scimType: 'invalidFilter' | 'invalidPath' | 'invalidValue' | 'invalidSyntax' | 'mutability' | 'noTarget' | 'tooMany';
  readonly detail: string;
};
/** Somebody or something else has it: a userName, or a member. */
export type ScimTaken = { readonly _tag: 'ScimTaken'; readonly scimType: 'uniqueness'; readonly detail: string };
export type ScimNotFound = { readonly _tag: 'ScimNotFound' };
/** It was changed since the version of `If-Match`. */
export type ScimVersionConflict = { readonly _tag: 'ScimVersionConflict' };
/** No directory leaves an organization without an owner who may act. */
export type ScimLastOwner = { readonly _tag: 'ScimLastOwner' };

export type ScimTokenNotFound = { readonly _tag: 'ScimTokenNotFound' };
export type TooManyScimTokens = { readonly _tag: 'TooManyScimTokens'; readonly most: number };
